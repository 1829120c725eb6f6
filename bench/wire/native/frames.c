/* Finds a run of messages in what a NATS server sent. It only reads within [start, stop). */

#include <stdint.h>
#include <string.h>

enum { LEAST_LINE = 9 /* MSG a 1 0 */, MOST_DIGITS = 8 };

/* The size that the line [line, *line_end) ends in, and *line_end before its blank; -1 if it ends in none, or in
 * one that is spelt oddly. */
static int64_t size_at_end(const uint8_t *line, const uint8_t **line_end) {
    const uint8_t *end = *line_end, *digit = end;
    int64_t size = 0, weight = 1;
    while (digit > line && digit[-1] >= '0' && digit[-1] <= '9') {
        if (end - digit == MOST_DIGITS) return -1;
        size += (*--digit - '0') * weight;
        weight *= 10;
    }
    if (digit == end || digit == line || digit[-1] != ' ') return -1;
    if (*digit == '0' && end - digit > 1) return -1;
    *line_end = digit - 1;
    return size;
}

/* How many whole messages lie one behind the other from `start` on, `room` at the most; where each one starts, its
 * line ends, and it ends, and how many bytes of its body are headers. */
int64_t jetlag_frames(const uint8_t *data, int64_t start, int64_t stop, int64_t room, int64_t *starts,
                      int64_t *line_ends, int64_t *ends, int64_t *header_sizes) {
    int64_t count = 0;
    while (count < room && stop - start > LEAST_LINE + 1) {
        const uint8_t *line = data + start;
        const int has_headers = *line == 'H';
        const uint8_t *words = line + 4 + has_headers;
        if (memcmp(line + has_headers, "MSG ", 4) != 0) break;
        const uint8_t *feed = memchr(line, '\n', (size_t)(stop - start));
        if (!feed || feed - line <= LEAST_LINE || feed[-1] != '\r') break;
        const uint8_t *rest = feed - 1;
        const int64_t size = size_at_end(words, &rest);
        if (size < 0 || stop - (feed + 1 - data) < size + 2) break;
        const int64_t header_size = has_headers ? size_at_end(words, &rest) : 0;
        if (header_size < 0 || header_size > size) break;
        if (has_headers && !memchr(words, ' ', (size_t)(rest - words))) break; /* its sid was taken for a size */
        const uint8_t *end = feed + 1 + size;
        if (end[0] != '\r' || end[1] != '\n') break;
        starts[count] = start;
        line_ends[count] = feed - 1 - data;
        header_sizes[count] = header_size;
        start = end + 2 - data;
        ends[count++] = start;
    }
    return count;
}
