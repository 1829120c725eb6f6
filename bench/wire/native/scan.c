/* Finds the wanted fields of many flat JSON objects, and proves on the way that each is one JSON object.
 *
 * It only reads within [starts[i], ends[i]) and never writes past the rows it was given. What it does not
 * take (an escape in a wanted string, a number that is no whole one where one is wanted, any text that is
 * not JSON) ends the scan at that row: the caller then asks the decoder, which knows all of JSON.
 */

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum kind { STRING = 0, WHOLE_NUMBER = 1 };
enum { MOST_DEPTH = 32, MOST_DIGITS = 18 };

typedef const uint8_t *text;

static text skip_blanks(text at, text end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
    return at;
}

/* The first quote, backslash or control character at or after `at`; `end` if there is none. */
static text plain_run_end(text at, text end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes);
        const __m128i is_mark = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, escape));
        const int special = _mm_movemask_epi8(_mm_or_si128(is_control, is_mark));
        if (special) return at + __builtin_ctz((unsigned)special);
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && *at >= 0x20) at++;
    return at;
}

/* Behind the string whose first character is at `at`; NULL if it is not one. */
static text skip_string(text at, text end) {
    for (;;) {
        at = plain_run_end(at, end);
        if (at >= end) return NULL;
        if (*at == '"') return at + 1;
        /* Escapes by number may be half a pair: the decoder's to judge. */
        if (*at != '\\' || end - at < 2 || at[1] == 0 || !strchr("\"\\/bfnrt", at[1])) return NULL;
        at += 2;
    }
}

static text skip_digits(text at, text end) {
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

/* Behind the number at `at`; NULL if it is not one. */
static text skip_number(text at, text end) {
    if (at < end && *at == '-') at++;
    text first = at;
    at = skip_digits(at, end);
    if (at == first || (*first == '0' && at - first > 1)) return NULL;
    if (at < end && *at == '.') {
        text point = at++;
        at = skip_digits(at, end);
        if (at - point < 2) return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        text power = at;
        at = skip_digits(at, end);
        if (at == power) return NULL;
    }
    return at;
}

static text skip_word(text at, text end, const char *word) {
    const int64_t size = (int64_t)strlen(word);
    return end - at >= size && memcmp(at, word, (size_t)size) == 0 ? at + size : NULL;
}

/* Behind the value at `at`, whatever it is; NULL if it is none, or nested too deeply. */
static text skip_value(text at, text end, int depth) {
    if (at >= end) return NULL;
    switch (*at) {
    case '"': return skip_string(at + 1, end);
    case 't': return skip_word(at, end, "true");
    case 'f': return skip_word(at, end, "false");
    case 'n': return skip_word(at, end, "null");
    case '{':
    case '[': break;
    default: return skip_number(at, end);
    }
    const int is_object = *at == '{';
    const uint8_t close = is_object ? '}' : ']';
    if (depth >= MOST_DEPTH) return NULL;
    at = skip_blanks(at + 1, end);
    if (at < end && *at == close) return at + 1;
    for (;;) {
        if (is_object) {
            if (at >= end || *at != '"' || !(at = skip_string(at + 1, end))) return NULL;
            at = skip_blanks(at, end);
            if (at >= end || *at != ':') return NULL;
            at = skip_blanks(at + 1, end);
        }
        if (!(at = skip_value(at, end, depth + 1))) return NULL;
        at = skip_blanks(at, end);
        if (at >= end) return NULL;
        if (*at == close) return at + 1;
        if (*at != ',') return NULL;
        at = skip_blanks(at + 1, end);
    }
}

/* Behind the whole number at `at`, its value in *value; NULL if it is no such number, or may not fit. */
static text read_number(text at, text end, int64_t *value) {
    const int is_negative = at < end && *at == '-';
    text first = at + is_negative;
    int64_t sum = 0;
    for (at = first; at < end && *at >= '0' && *at <= '9'; at++) {
        if (at - first == MOST_DIGITS) return NULL;
        sum = sum * 10 + (*at - '0');
    }
    if (at == first || (*first == '0' && at - first > 1)) return NULL;
    if (at < end && (*at == '.' || *at == 'e' || *at == 'E')) return NULL;
    *value = is_negative ? -sum : sum;
    return at;
}

struct wanted {
    text names;
    const int32_t *name_ends;
    const uint8_t *kinds;
    int32_t fields;
};

/* Which field has this name; -1 if nobody asked for it. `guess` is looked at first. */
static int32_t field_named(const struct wanted *w, text name, int64_t size, int32_t guess) {
    for (int32_t tried = 0; tried < w->fields; tried++) {
        int32_t field = guess + tried;
        if (field >= w->fields) field -= w->fields;
        const int32_t begin = field ? w->name_ends[field - 1] : 0;
        if (w->name_ends[field] - begin == size && memcmp(w->names + begin, name, (size_t)size) == 0)
            return field;
    }
    return -1;
}

/* One row; 0 if it is not for us. `firsts` and `lasts` are its places in the first field's column. */
static int scan_row(text base, text at, text end, const struct wanted *w, int64_t rows, int64_t *firsts,
                    int64_t *lasts) {
    for (int32_t field = 0; field < w->fields; field++) lasts[field * rows] = -1;
    at = skip_blanks(at, end);
    if (at >= end || *at != '{') return 0;
    at = skip_blanks(at + 1, end);
    int32_t guess = 0;
    if (at < end && *at == '}') return skip_blanks(at + 1, end) == end;
    for (;;) {
        if (at >= end || *at != '"') return 0;
        text name = at + 1;
        at = plain_run_end(name, end);
        if (at >= end || *at != '"') return 0;
        const int32_t field = field_named(w, name, at - name, guess);
        at = skip_blanks(at + 1, end);
        if (at >= end || *at != ':') return 0;
        at = skip_blanks(at + 1, end);
        if (field < 0) {
            at = skip_value(at, end, 1);
        } else {
            const int64_t place = field * rows;
            guess = field + 1 < w->fields ? field + 1 : 0;
            if (at < end && *at == 'n') {
                lasts[place] = -1;
                at = skip_word(at, end, "null");
            } else if (w->kinds[field] == WHOLE_NUMBER) {
                lasts[place] = 0;
                at = read_number(at, end, &firsts[place]);
            } else if (at < end && *at == '"') {
                text value = at + 1;
                at = plain_run_end(value, end);
                if (at >= end || *at != '"') return 0;
                firsts[place] = value - base;
                lasts[place] = at - base;
                at++;
            } else {
                return 0;
            }
        }
        if (!at) return 0;
        at = skip_blanks(at, end);
        if (at >= end) return 0;
        if (*at == '}') return skip_blanks(at + 1, end) == end;
        if (*at != ',') return 0;
        at = skip_blanks(at + 1, end);
    }
}

/* How many rows from the first on were taken; the columns lie one behind the other, `rows` places each.
 * A string is data[firsts:lasts], a number stands in firsts; lasts is -1 where there is no value. */
int64_t jetlag_scan(const uint8_t *data, const int64_t *starts, const int64_t *ends, int64_t rows,
                    const uint8_t *names, const int32_t *name_ends, const uint8_t *kinds, int32_t fields,
                    int64_t *firsts, int64_t *lasts) {
    const struct wanted w = {names, name_ends, kinds, fields};
    for (int64_t row = 0; row < rows; row++) {
        if (!scan_row(data, data + starts[row], data + ends[row], &w, rows, firsts + row, lasts + row))
            return row;
    }
    return rows;
}

/* One behind the other, the strings that a scan has found in a column, and where each ends. */
void jetlag_gather(const uint8_t *data, const int64_t *firsts, const int64_t *lasts, int64_t rows,
                   int32_t *ends, uint8_t *out) {
    int32_t size = 0;
    for (int64_t row = 0; row < rows; row++) {
        if (lasts[row] >= 0) {
            const int32_t more = (int32_t)(lasts[row] - firsts[row]);
            memcpy(out + size, data + firsts[row], (size_t)more);
            size += more;
        }
        ends[row] = size;
    }
}
