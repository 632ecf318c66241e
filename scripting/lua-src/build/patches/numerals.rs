//! Texts of numbers, however long, are read in steps between which an interruption is seen.
//!
//! The C library reads a numeral of a hundred million digits in one go. So a long one is made short first: the digits
//! that decide how it is rounded, one more for whatever stands behind them, and in the exponent how many are left out.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lobject.h",
        why: "reading a numeral may be interrupted, for which it needs the state; and the length is known",
        edit: Replace(
            "LUAI_FUNC int luaO_str2d (const char *s, lua_Number *result);\n",
            "LUAI_FUNC int luaO_str2d (lua_State *L, const char *s, size_t len, lua_Number *result);\n",
        ),
    },
    Change {
        file: "lobject.c",
        why: "the short one; a double needs 767 digits at the most, whatever follows them",
        edit: Before(
            "int luaO_str2d (const char *s, lua_Number *result) {\n",
            "#define LONGNUMERAL	4096
#define KEPTDIGITS	800
#define MAXEXPONENT	1000000000000LL

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

static int longnumeral (lua_State *L, const char *s, lua_Number *result) {
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
    return end != start && *skipspaces(L, end) == '\\0';
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
  if (s == NULL || *skipspaces(L, s) != '\\0') return 0;
  sprintf(out, hex ? \"p%lld\" : \"e%lld\", exponent + (hex ? 4 * left : left));
  *result = lua_str2number(brief, &out);
  return 1;
}

",
        ),
    },
    Change {
        file: "lobject.c",
        why: "the choice between the two",
        edit: Replace(
            "int luaO_str2d (const char *s, lua_Number *result) {\n  char *endptr;\n",
            "int luaO_str2d (lua_State *L, const char *s, size_t len, lua_Number *result) {
  char *endptr;
  if (len > LONGNUMERAL) return longnumeral(L, s, result);
",
        ),
    },
    Change {
        file: "lvm.h",
        why: "whoever makes a number of a text hands the state on",
        edit: Replace(
            "                         (((o) = luaV_tonumber(o,n)) != NULL))\n",
            "                         (((o) = luaV_tonumber(L,o,n)) != NULL))\n",
        ),
    },
    Change {
        file: "lvm.h",
        why: "the same",
        edit: Replace(
            "LUAI_FUNC const TValue *luaV_tonumber (const TValue *obj, TValue *n);\n",
            "LUAI_FUNC const TValue *luaV_tonumber (lua_State *L, const TValue *obj, TValue *n);\n",
        ),
    },
    Change {
        file: "lvm.c",
        why: "the same",
        edit: Replace(
            "const TValue *luaV_tonumber (const TValue *obj, TValue *n) {\n",
            "const TValue *luaV_tonumber (lua_State *L, const TValue *obj, TValue *n) {\n",
        ),
    },
    Change {
        file: "lvm.c",
        why: "the same",
        edit: Replace("luaO_str2d(svalue(obj), &num)", "luaO_str2d(L, svalue(obj), tsvalue(obj)->len, &num)"),
    },
    Change {
        file: "lvm.c",
        why: "the same",
        edit: Replace("(b = luaV_tonumber(rb, &tempb))", "(b = luaV_tonumber(L, rb, &tempb))"),
    },
    Change {
        file: "lvm.c",
        why: "the same",
        edit: Replace("(c = luaV_tonumber(rc, &tempc))", "(c = luaV_tonumber(L, rc, &tempc))"),
    },
    Change {
        file: "ldebug.c",
        why: "the same",
        edit: Replace("luaV_tonumber(p1, &temp)", "luaV_tonumber(L, p1, &temp)"),
    },
    Change {
        file: "llex.c",
        why: "the same, for a numeral in a script's text",
        edit: Replace(
            "  if (!luaO_str2d(luaZ_buffer(ls->buff), &seminfo->r))  /* format error? */\n",
            "  if (!luaO_str2d(ls->L, luaZ_buffer(ls->buff), luaZ_bufflen(ls->buff), &seminfo->r))\n",
        ),
    },
    Change {
        file: "llex.c",
        why: "the same",
        edit: Replace(
            "  if (!luaO_str2d(luaZ_buffer(ls->buff), &seminfo->r)) {\n",
            "  if (!luaO_str2d(ls->L, luaZ_buffer(ls->buff), luaZ_bufflen(ls->buff), &seminfo->r)) {\n",
        ),
    },
    Change {
        file: "lbaselib.c",
        why: "a long text of digits of another base than ten, as strtoul reads it",
        edit: Before(
            "static int luaB_tonumber (lua_State *L) {\n",
            "static int digitvalue (int c) {
  if (isdigit(c)) return c - '0';
  return isalpha(c) ? toupper(c) - 'A' + 10 : 36;
}

static unsigned long longinteger (lua_State *L, const char *s, char **end, int base) {
  const unsigned char *p = (const unsigned char *)s;
  unsigned long value = 0;
  int negative, digits = 0, over = 0;
  for (; isspace(*p); p++) lua_polleach(L, p);
  negative = (*p == '-');
  if (*p == '-' || *p == '+') p++;
  if (base == 16 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X') && isxdigit(p[2])) p += 2;
  for (; digitvalue(*p) < base; p++) {
    lua_polleach(L, p);
    digits = 1;
    over |= (value > (ULONG_MAX - digitvalue(*p)) / base);
    value = value * base + digitvalue(*p);
  }
  *end = digits ? (char *)p : (char *)s;
  return over ? ULONG_MAX : negative ? -value : value;
}

",
        ),
    },
    Change {
        file: "lbaselib.c",
        why: "its limit",
        edit: After("#include <ctype.h>\n", "#include <limits.h>\n"),
    },
    Change {
        file: "lbaselib.c",
        why: "the choice between the two",
        edit: Replace(
            "    n = strtoul(s1, &s2, base);\n",
            "    n = lua_objlen(L, 1) > 4096 ? longinteger(L, s1, &s2, base) : strtoul(s1, &s2, base);\n",
        ),
    },
];
