"""Cases C to F: a windowed aggregate on a stream engine, observed at JetStream or in TiDB."""

from __future__ import annotations

import pytest

from bench.cases import case_c, case_d, case_e, case_f
from bench.engine_pipeline import EngineCase
from bench.pipeline_c import PipelineC
from bench.pipeline_e import BentoCase
from bench.pipeline_table import PipelineD, PipelineF


@pytest.mark.caseC
def test_case_c(settings, nats_stack, engine, run):
    """Every event is in exactly one window's result, results come soon after each window, the last too."""
    outcome = run(case_c(settings, engine.variant), nats_stack, builder=EngineCase(engine, PipelineC))
    outcome.raise_unless_pass()


@pytest.mark.caseD
def test_case_d(settings, full_stack, engine, run):
    """The same by way of the writer in TiDB."""
    outcome = run(case_d(settings, engine.variant), full_stack, builder=EngineCase(engine, PipelineD))
    outcome.raise_unless_pass()


@pytest.mark.caseE
def test_case_e(settings, full_stack, engine, bento_sink, run):
    """The same by way of Bento in TiDB."""
    outcome = run(case_e(settings, engine.variant), full_stack, builder=BentoCase(engine, bento_sink))
    outcome.raise_unless_pass()


@pytest.mark.caseF
def test_case_f(settings, full_stack, engine, run):
    """The same by the engine's own sink in TiDB."""
    outcome = run(case_f(settings, engine.variant), full_stack, builder=EngineCase(engine, PipelineF))
    outcome.raise_unless_pass()
