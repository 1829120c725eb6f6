"use strict";
(() => {
  const root = document.documentElement;
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [12, 4, 2, 4, 2, 4], [4, 4], [1, 4]];
  const NOTHING = "–";
  const HEIGHT = 200;
  const plots = [];

  // ---- numbers ------------------------------------------------------------------
  const grouped = (value, digits) =>
    value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const count = (value) => grouped(value, Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2);
  const trimmed = (value, digits) => Number(value.toFixed(digits)).toLocaleString("en", { maximumFractionDigits: digits });
  const ms = (value) => {
    const size = Math.abs(value);
    if (size >= 120000) return trimmed(value / 60000, 1) + " min";
    if (size >= 1000) return trimmed(value / 1000, size < 10000 ? 2 : 1) + " s";
    return trimmed(value, size >= 100 ? 0 : size >= 1 ? 1 : 3) + " ms";
  };
  const bytes = (value) => {
    for (const [unit, factor] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
      if (Math.abs(value) >= factor) return trimmed(value / factor, Math.abs(value) >= 100 * factor ? 0 : 2) + " " + unit;
    }
    return value + " B";
  };
  const short = (value) => {
    for (const [unit, factor] of [["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= factor) return trimmed(value / factor, 2) + unit;
    }
    return trimmed(value, 2);
  };
  const FORMATS = {
    rate: { full: (v) => count(v) + "/s", axis: short },
    count: { full: count, axis: short },
    number: { full: count, axis: short },
    ms: { full: ms, axis: ms },
    bytes: { full: bytes, axis: bytes },
    cores: { full: (v) => v.toFixed(2), axis: (v) => trimmed(v, 2) },
  };
  const seconds = (value) => trimmed(value, 1) + " s";
  const percentile = (inverse) => {
    if (inverse <= 1) return "0 %";
    const nines = Math.max(0, Math.ceil(Math.log10(inverse) - 1e-9) - 2);
    return (100 * (1 - 1 / inverse)).toFixed(inverse < 10 ? 0 : nines) + " %";
  };

  // ---- colours: read from the style sheet, so that a theme is one place -----------
  let palette = {};
  const readPalette = () => {
    const style = getComputedStyle(root);
    const names = ["card", "muted", "grid", "phase", "outage", "window", "bound", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
    palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  };
  const colour = (index) => palette["s" + (index % 8)];

  // ---- what lies behind the lines ---------------------------------------------------
  const vertical = (u, x) => Math.round(u.valToPos(x, "x", true));
  const place = (u, band) => {
    const { left, width } = u.bbox;
    const from = Math.max(left, vertical(u, band.from));
    return [from, Math.min(left + width, Math.max(vertical(u, band.to), from + 2 * devicePixelRatio))];
  };
  const drawBands = (spec) => (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    for (const band of spec.bands) {
      const [from, to] = place(u, band);
      ctx.fillStyle = band.kind === "outage" ? palette.outage : palette.phase;
      if (to > from) ctx.fillRect(from, bbox.top, to - from, bbox.height);
    }
    ctx.strokeStyle = palette.window;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const at of spec.windows) line(ctx, vertical(u, at), bbox.top, vertical(u, at), bbox.top + bbox.height);
    ctx.restore();
  };
  const drawNames = (spec) => (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    ctx.fillStyle = palette.muted;
    for (const band of spec.bands) {
      const [from, to] = place(u, band);
      const fits = ctx.measureText(band.kind).width + 8 * devicePixelRatio < to - from;
      // An outage is short and has to be named all the same: then beside its band.
      if (fits || band.kind === "outage") haloed(ctx, band.kind, (fits ? from : to) + 4 * devicePixelRatio, bbox.top + 2 * devicePixelRatio);
    }
    ctx.restore();
  };
  const drawBound = (spec) => (u) => {
    if (spec.bound === null || spec.bound > u.scales.y.max) return;
    const { ctx, bbox } = u;
    const y = Math.round(u.valToPos(spec.bound, "y", true));
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = palette.bound;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([7 * devicePixelRatio, 4 * devicePixelRatio]);
    line(ctx, bbox.left, y, bbox.left + bbox.width, y);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.setLineDash([]);
    haloed(ctx, "bound " + FORMATS[spec.unit].full(spec.bound), bbox.left + bbox.width - 4, y - 2 * devicePixelRatio);
    ctx.restore();
  };
  const haloed = (ctx, text, x, y) => {
    ctx.strokeStyle = palette.card;
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
  };
  const line = (ctx, x0, y0, x1, y1) => {
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
  };

  // ---- one chart ----------------------------------------------------------------------
  const RUNS = [1, 2, 5, 10, 20, 50, 100, 200];
  const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400];
  const powersOfTen = (u, axis, min, max) => {
    const splits = [];
    for (let power = Math.round(Math.log10(min)); power <= Math.log10(max) + 1e-6; power += 1) splits.push(10 ** power);
    return splits;
  };
  const yRange = (spec) => (u, min, max) => {
    if (min === null) return [0, 1];
    if (spec.log) return [10 ** Math.floor(Math.log10(Math.max(min, 0.001))), 10 ** Math.ceil(Math.log10(max))];
    // A bound far above the values would press them flat; near them it is what the eye looks for.
    const top = spec.bound !== null && max >= spec.bound / 4 ? Math.max(max, spec.bound) : max;
    return [Math.min(0, min), top > 0 ? top * 1.15 : 1];
  };
  const options = (spec, width, group) => {
    const format = FORMATS[spec.unit];
    const trend = spec.kind === "trend";
    const time = spec.kind === "time" || trend;
    const axis = { stroke: () => palette.muted, font: "11px system-ui, sans-serif", ticks: { show: false } };
    const grid = { stroke: () => palette.grid, width: 1 };
    const gaps = (values) => {
      const there = values.map((value) => value !== null);
      return there.slice(there.indexOf(true), there.lastIndexOf(true)).includes(false);
    };
    const sparse = (values) => values.filter((value) => value !== null).length <= values.length / 2;
    return {
      width, height: HEIGHT, padding: [10, 22, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: time ? { key: group } : undefined },
      scales: {
        x: time ? { time: false, range: () => spec.span } : { time: false, distr: 3, range: (u, min, max) => [1, Math.max(max, 10)] },
        y: { distr: spec.log ? 3 : 1, range: yRange(spec) },
      },
      axes: [
        {
          ...axis, grid: { show: false }, size: 26, space: 52, incrs: time ? (trend ? RUNS : SECONDS) : undefined,
          splits: time ? undefined : powersOfTen, filter: (u, splits) => splits,
          values: (u, splits) => splits.map(trend ? String : time ? (v) => trimmed(v, 2) + " s" : percentile),
        },
        {
          ...axis, grid, size: 60, space: 34, splits: spec.log ? powersOfTen : undefined, filter: (u, splits) => splits,
          values: (u, splits) => splits.map(format.axis),
        },
      ],
      series: [
        {},
        ...spec.lines.map(({ label, values }, index) => ({
          label, stroke: () => colour(index), width: 1.75, dash: DASHES[index % 8],
          // Results of windows come once a window: a value between two gaps would not be seen without a point.
          spanGaps: !time || sparse(values),
          points: { show: trend || (time && gaps(values)), size: 5, fill: () => colour(index) },
        })),
      ],
      hooks: { drawClear: [drawBands(spec)], draw: [drawNames(spec), drawBound(spec)] },
    };
  };

  const swatch = (index) => {
    const ns = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(ns, "svg");
    const stroke = document.createElementNS(ns, "line");
    const place = { x1: 0, y1: 4, x2: 24, y2: 4, "stroke-width": 2.5, "stroke-dasharray": DASHES[index % 8].join(" ") };
    for (const [name, value] of Object.entries(place)) stroke.setAttribute(name, value);
    svg.setAttribute("viewBox", "0 0 24 8");
    svg.setAttribute("aria-hidden", "true");
    svg.append(stroke);
    return { svg, paint: () => stroke.setAttribute("stroke", colour(index)) };
  };
  const whereIs = (spec, index) => {
    if (spec.kind === "trend") return spec.labels[index];
    return "at " + (spec.kind === "time" ? seconds : percentile)(spec.x[index]);
  };
  const addLegend = (plot, element) => {
    const format = FORMATS[plot.spec.unit];
    const outputs = plot.spec.lines.map(({ label }, index) => {
      const button = document.createElement("button");
      const name = document.createElement("span");
      const output = document.createElement("output");
      const mark = swatch(index);
      button.type = "button";
      button.title = "Show or hide this line";
      button.setAttribute("aria-pressed", "true");
      name.textContent = label;
      button.append(mark.svg, name, output);
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        plot.chart.setSeries(index + 1, { show: shown });
      });
      element.append(button);
      plot.paint.push(mark.paint);
      return output;
    });
    const at = document.createElement("span");
    at.className = "said";
    element.append(at);
    plot.told = () => {
      const index = plot.chart.cursor.idx;
      const here = index !== null && index !== undefined && plot.chart.cursor.left >= 0;
      outputs.forEach((output, line) => {
        const value = here ? plot.chart.data[line + 1][index] : null;
        output.textContent = here ? (value === null || value === undefined ? NOTHING : format.full(value)) : "";
      });
      at.textContent = here ? whereIs(plot.spec, index) : "";
    };
  };
  const addKeys = (plot) => {
    plot.element.addEventListener("keydown", (event) => {
      const { chart } = plot;
      const last = chart.data[0].length - 1;
      const index = chart.cursor.left >= 0 ? chart.cursor.idx ?? 0 : -1;
      const next = { ArrowRight: Math.min(last, index + 1), ArrowLeft: Math.max(0, index - 1), Home: 0, End: last }[event.key];
      if (event.key === "Escape") return chart.setCursor({ left: -10, top: -10 });
      if (next === undefined) return undefined;
      event.preventDefault();
      return chart.setCursor({ left: chart.valToPos(chart.data[0][next], "x"), top: 10 });
    });
  };
  const draw = (element) => {
    const spec = specs[Number(element.dataset.chart)];
    const plot = { element, spec, paint: [], told: () => {} };
    const data = [spec.x, ...spec.lines.map((one) => one.values)];
    const settings = options(spec, element.clientWidth, element.dataset.group);
    settings.hooks.setCursor = [() => plot.told()];
    plot.chart = new uPlot(settings, data, element);
    addLegend(plot, element.nextElementSibling);
    addKeys(plot);
    plot.paint.forEach((paint) => paint());
    plots.push(plot);
    new ResizeObserver(() => fit(plot)).observe(element);
  };
  // A matrix has some two hundred charts: the first at once, the others while the page is already read.
  const waiting = [...document.querySelectorAll(".plot")];
  const drawSome = (some) => waiting.splice(0, some).forEach(draw);
  const fit = (plot) => {
    const width = plot.element.clientWidth;
    if (width > 0 && width !== plot.chart.width) plot.chart.setSize({ width, height: HEIGHT });
  };
  const repaint = () => {
    readPalette();
    for (const plot of plots) {
      plot.paint.forEach((paint) => paint());
      plot.chart.redraw(false, true);
    }
  };

  // ---- theme ------------------------------------------------------------------------
  const button = document.getElementById("theme");
  const setTheme = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
    repaint();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const order = ["auto", "light", "dark"];
    setTheme(order[(order.indexOf(root.dataset.theme || "auto") + 1) % 3]);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

  // Paper is white and narrow: light colours and the paper's width while it is printed.
  let before = null;
  addEventListener("beforeprint", () => {
    drawSome(waiting.length);
    before = root.dataset.theme || "auto";
    setTheme("light");
    for (const plot of plots) plot.chart.setSize({ width: 480, height: 150 });
  });
  addEventListener("afterprint", () => {
    if (before !== null) setTheme(before);
    plots.forEach(fit);
  });

  readPalette();
  drawSome(8);
  const more = () => {
    drawSome(8);
    if (waiting.length) setTimeout(more);
  };
  setTimeout(more);
})();
