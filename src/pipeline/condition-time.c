/* Dates (see condition-time.h). The forms are a table; one function reads a text by a form. The forms and
 * ranges of numbers are those of doc/reference/pipelines.md, "Conditions". */
#include "pipeline/condition-time.h"

#include <glib.h>
#include <string.h>

/* In a form, other characters stand for themselves; a blank takes one or more blanks. Y 2006   M 01   b Jan
 * D 02   d " 2" or "2"   a Mon   H 15 (one or two digits)   h 3   P PM   m 04 S 05, with a fraction if
 * there is one   z Z or +0700   Z Z or +07:00   o +0700   O +07:00   N the zone's name */
static const char *const forms[] = {
        "a b d H:m:S Y", "a b d H:m:S N Y", "a b D H:m:S o Y", "h:mP",     "Y-M-DTH:m:SZ", "Y-M-D",
        "Y-M-D H:m",     "Y-M-D H:m:S",     "Y-M-D H:m:SO",    "Y-M-DTHz", "Y-M-DTH:mz",   "Y-M-DTH:m:Sz",
};

typedef struct {
        const char *at;
        int year, month, day, hour, minute, second, hour12;
        bool afternoon, noon_clock;
        bool has_zone;
        int zone_s;
        char abbreviation[6]; /* of up to 5 letters; "" for none */
} Reading;

static bool take_number(Reading *reading, int min_digits, int max_digits, int min, int max, int *ret)
{
        int value = 0, n = 0;

        for (; n < max_digits && g_ascii_isdigit(*reading->at); n++, reading->at++)
                value = value * 10 + (*reading->at - '0');
        *ret = value;
        return n >= min_digits && value >= min && value <= max;
}

static bool take_word(Reading *reading, const char *words, int *ret)
{
        for (int i = 0; words[3 * i]; i++)
                if (g_ascii_strncasecmp(reading->at, words + (size_t)3 * i, 3) == 0) {
                        reading->at += 3;
                        *ret = i + 1;
                        return true;
                }
        return false;
}

static bool take_second(Reading *reading)
{
        if (!take_number(reading, 2, 2, 0, 59, &reading->second))
                return false;
        if (reading->at[0] == '.' && g_ascii_isdigit(reading->at[1])) /* a whole second is what counts */
                reading->at += 1 + strspn(reading->at + 1, "0123456789");
        return true;
}

static bool take_offset(Reading *reading, bool colon, bool z)
{
        int sign = *reading->at == '-' ? -1 : 1, hours, minutes;

        reading->has_zone = true;
        if (z && *reading->at == 'Z') {
                reading->at++;
                return true;
        }
        if (*reading->at != '-' && *reading->at != '+')
                return false;
        reading->at++;
        if (!take_number(reading, 2, 2, 0, 24, &hours) || (colon && *reading->at++ != ':') ||
            !take_number(reading, 2, 2, 0, 60, &minutes))
                return false;
        reading->zone_s = sign * (hours * 60 + minutes) * 60;
        return true;
}

static bool take_abbreviation(Reading *reading)
{
        gsize len = 0;

        while (g_ascii_isupper(reading->at[len]))
                len++;
        if (len < 3 || len > 5)
                return false;
        g_strlcpy(reading->abbreviation, reading->at, len + 1);
        reading->at += len;
        return true;
}

static bool take_half(Reading *reading)
{
        reading->noon_clock = true;
        reading->afternoon = reading->at[0] == 'P';
        if ((reading->at[0] != 'A' && reading->at[0] != 'P') || reading->at[1] != 'M')
                return false;
        reading->at += 2;
        return true;
}

static bool take_blanks(Reading *reading)
{
        gsize n = strspn(reading->at, " ");

        reading->at += n;
        return n > 0;
}

static bool take(Reading *reading, char form)
{
        int weekday;

        switch (form) {
        case 'Y': return take_number(reading, 4, 4, 0, 9999, &reading->year);
        case 'M': return take_number(reading, 2, 2, 1, 12, &reading->month);
        case 'b': return take_word(reading, "JanFebMarAprMayJunJulAugSepOctNovDec", &reading->month);
        case 'D': return take_number(reading, 2, 2, 1, 31, &reading->day);
        case 'd': reading->at += *reading->at == ' '; return take_number(reading, 1, 2, 1, 31, &reading->day);
        case 'a': return take_word(reading, "MonTueWedThuFriSatSun", &weekday);
        case 'H': return take_number(reading, 1, 2, 0, 23, &reading->hour);
        case 'h': return take_number(reading, 1, 2, 0, 12, &reading->hour12);
        case 'P': return take_half(reading);
        case 'm': return take_number(reading, 2, 2, 0, 59, &reading->minute);
        case 'S': return take_second(reading);
        case 'z':
        case 'Z': return take_offset(reading, form == 'Z', true);
        case 'o':
        case 'O': return take_offset(reading, form == 'O', false);
        case 'N': return take_abbreviation(reading);
        case ' ': return take_blanks(reading);
        default: return *reading->at++ == form;
        }
}

static bool is_leap(int year)
{
        return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool is_day(const Reading *reading)
{
        static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        int last = days[reading->month - 1] + (reading->month == 2 && is_leap(reading->year));

        return reading->day <= last;
}

/* Days from 1970-01-01; the year begins in March, so that the leap day is its last. */
static gint64 days_of(const Reading *reading)
{
        gint64 year = reading->year - (reading->month <= 2), month = (reading->month + 9) % 12;
        gint64 era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
        gint64 of_year = (153 * month + 2) / 5 + reading->day - 1;

        return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Without an offset, the local zone. A name of a zone that is not the local one counts as UTC. */
static gint64 zone_of(const Reading *reading, gint64 local_s)
{
        g_autoptr(GTimeZone) zone = NULL;
        gint64 time = local_s;
        int interval;

        if (reading->has_zone)
                return reading->zone_s;
        zone = g_time_zone_new_local();
        interval = g_time_zone_adjust_time(zone, G_TIME_TYPE_STANDARD, &time);
        if (*reading->abbreviation &&
            strcmp(reading->abbreviation, g_time_zone_get_abbreviation(zone, interval)) != 0)
                return 0;
        return g_time_zone_get_offset(zone, interval);
}

static double seconds_of(const Reading *reading)
{
        int hour = reading->noon_clock ? reading->hour12 % 12 + 12 * reading->afternoon : reading->hour;
        gint64 local_s = days_of(reading) * 86400 + hour * 3600 + reading->minute * 60 + reading->second;

        return (double)(local_s - zone_of(reading, local_s));
}

static bool read_form(const char *form, const char *text, double *ret_s)
{
        Reading reading = { .at = text, .month = 1, .day = 1 };

        for (; *form; form++)
                if (!take(&reading, *form))
                        return false;
        if (*reading.at || !is_day(&reading))
                return false;
        *ret_s = seconds_of(&reading);
        return true;
}

bool condition_time(const char *text, double *ret_s)
{
        for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
                if (read_form(forms[i], text, ret_s))
                        return true;
        return false;
}
