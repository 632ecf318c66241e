/*
** Texts of numbers, however long, are read in steps between which an interruption is seen.
**
** The C library reads a numeral of a hundred million digits in one go. So a long one is made short first: the digits
** that decide how it is rounded (a double needs 767 at the most, whatever follows them), one more for whatever stands
** behind them, and in the exponent how many are left out.
*/

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "lua.h"

#include "lobject.h"
#include "lstate.h"

#define KEPTDIGITS 800
#define MAXEXPONENT 1000000000000LL

static const char *skipspaces (lua_State *L, const char *s) {
  for (; isspace(cast(unsigned char, *s)); s++)
    luai_polleach(L, s);
  return s;
}

/* the exponent behind a numeral's digits; the text's own end if it has none, NULL if it is not one */
static const char *readexponent (lua_State *L, const char *s, int mark, long long *exponent) {
  int negative;
  long long value = 0;
  if (tolower(cast(unsigned char, *s)) != mark) return s;
  s++;
  negative = (*s == '-');
  if (*s == '-' || *s == '+') s++;
  if (!isdigit(cast(unsigned char, *s))) return NULL;
  for (; isdigit(cast(unsigned char, *s)); s++) {
    luai_polleach(L, s);
    if (value < MAXEXPONENT) value = value * 10 + (*s - '0');
  }
  *exponent += negative ? -value : value;
  return s;
}

/* Reads a long numeral; 0 if it is none. */
int luaO_longnumeral (lua_State *L, const char *s, lua_Number *result) {
  char brief[KEPTDIGITS + 64];
  char *out = brief;
  const char *start;
  int kept = 0, digits = 0, rest = 0, dot = 0, hex;
  long long left = 0, exponent = 0;  /* digits left out before the point, less those kept behind it */
  start = s = skipspaces(L, s);
  if (*s == '+' || *s == '-') *out++ = *s++;
  if (!isdigit(cast(unsigned char, *s)) && *s != '.') {  /* a name, or nothing that is read far */
    char *end;
    *result = lua_str2number(start, &end);
    return end != start && *skipspaces(L, end) == '\0';
  }
  hex = (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'));
  if (hex) {
    *out++ = *s++;
    *out++ = *s++;
  }
  for (;; s++) {
    luai_polleach(L, s);
    if (*s == '.' && !dot) dot = 1;
    else if (hex ? isxdigit(cast(unsigned char, *s)) : isdigit(cast(unsigned char, *s))) {
      digits = 1;
      if (kept == 0 && *s == '0') left -= dot;
      else if (kept < KEPTDIGITS) {
        *out++ = *s;
        kept++;
        left -= dot;
      }
      else {
        rest |= (*s != '0');
        left += !dot;
      }
    }
    else break;
  }
  if (!digits) return 0;
  if (kept == 0) *out++ = '0';
  if (rest) {
    *out++ = '1';
    left--;
  }
  s = readexponent(L, s, hex ? 'p' : 'e', &exponent);
  if (s == NULL || *skipspaces(L, s) != '\0') return 0;
  sprintf(out, hex ? "p%lld" : "e%lld", exponent + (hex ? 4 * left : left));
  *result = lua_str2number(brief, &out);
  return 1;
}

static int digitvalue (int c) {
  if (isdigit(c)) return c - '0';
  return isalpha(c) ? toupper(c) - 'A' + 10 : 36;
}

/* Reads an integer of another base than ten as strtoul does. */
unsigned long luaO_longinteger (lua_State *L, const char *s, char **end, int base) {
  const unsigned char *p = (const unsigned char *)s;
  unsigned long value = 0;
  int negative, digits = 0, over = 0;
  for (; isspace(*p); p++) luai_polleach(L, p);
  negative = (*p == '-');
  if (*p == '-' || *p == '+') p++;
  if (base == 16 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X') && isxdigit(p[2])) p += 2;
  for (; digitvalue(*p) < base; p++) {
    luai_polleach(L, p);
    digits = 1;
    over |= (value > (ULONG_MAX - digitvalue(*p)) / base);
    value = value * base + digitvalue(*p);
  }
  *end = digits ? (char *)p : (char *)s;
  return over ? ULONG_MAX : negative ? -value : value;
}
