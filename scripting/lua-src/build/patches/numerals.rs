//! Texts of numbers of any length are read in steps, with tests for an interruption between them; see `c/numeral.c`.

use super::Change;
use super::Edit::Replace;

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "The length of a numeral decides how it is read; reading a long one may be interrupted, \
              for which it needs the state.",
        edits: &[
            (
                "lobject.h",
                Replace(
                    "LUAI_FUNC int luaO_str2d (const char *s, lua_Number *result);\n",
                    "LUAI_FUNC int luaO_str2d (lua_State *L, const char *s, size_t len, lua_Number *result);\n",
                ),
            ),
            (
                "lobject.c",
                Replace(
                    "int luaO_str2d (const char *s, lua_Number *result) {\n  char *endptr;\n",
                    "int luaO_str2d (lua_State *L, const char *s, size_t len, lua_Number *result) {
  char *endptr;
  if (len > LONGNUMERAL) return luaO_longnumeral(L, s, result);
",
                ),
            ),
        ],
    },
    Change {
        why: "Whoever makes a number of a text hands the state on.",
        edits: &[
            (
                "lvm.h",
                Replace(
                    "                         (((o) = luaV_tonumber(o,n)) != NULL))\n",
                    "                         (((o) = luaV_tonumber(L,o,n)) != NULL))\n",
                ),
            ),
            (
                "lvm.h",
                Replace(
                    "LUAI_FUNC const TValue *luaV_tonumber (const TValue *obj, TValue *n);\n",
                    "LUAI_FUNC const TValue *luaV_tonumber (lua_State *L, const TValue *obj, TValue *n);\n",
                ),
            ),
            (
                "lvm.c",
                Replace(
                    "const TValue *luaV_tonumber (const TValue *obj, TValue *n) {\n",
                    "const TValue *luaV_tonumber (lua_State *L, const TValue *obj, TValue *n) {\n",
                ),
            ),
            (
                "lvm.c",
                Replace(
                    "luaO_str2d(svalue(obj), &num)",
                    "luaO_str2d(L, svalue(obj), tsvalue(obj)->len, &num)",
                ),
            ),
            ("lvm.c", Replace("(b = luaV_tonumber(rb, &tempb))", "(b = luaV_tonumber(L, rb, &tempb))")),
            ("lvm.c", Replace("(c = luaV_tonumber(rc, &tempc))", "(c = luaV_tonumber(L, rc, &tempc))")),
            ("ldebug.c", Replace("luaV_tonumber(p1, &temp)", "luaV_tonumber(L, p1, &temp)")),
            (
                "llex.c",
                Replace(
                    "  if (!luaO_str2d(luaZ_buffer(ls->buff), &seminfo->r))  /* format error? */\n",
                    "  if (!luaO_str2d(ls->L, luaZ_buffer(ls->buff), luaZ_bufflen(ls->buff), &seminfo->r))\n",
                ),
            ),
            (
                "llex.c",
                Replace(
                    "  if (!luaO_str2d(luaZ_buffer(ls->buff), &seminfo->r)) {\n",
                    "  if (!luaO_str2d(ls->L, luaZ_buffer(ls->buff), luaZ_bufflen(ls->buff), &seminfo->r)) {\n",
                ),
            ),
        ],
    },
    Change {
        why: "A long text of digits of another base than ten is read in steps, too.",
        edits: &[(
            "lbaselib.c",
            Replace(
                "    n = strtoul(s1, &s2, base);\n",
                "    n = lua_objlen(L, 1) > LONGNUMERAL ? luaO_longinteger(L, s1, &s2, base)
                                         : strtoul(s1, &s2, base);\n",
            ),
        )],
    },
];
