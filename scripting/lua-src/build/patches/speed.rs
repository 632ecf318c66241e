//! Faster paths for the most frequent operations of lock scripts.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "Few strings are ever a key, so the hash that orders the keys of a table is made for \
              those alone; the flag that it is there lies in the header's padding.",
        edits: &[
            (
                "lobject.h",
                Replace(
                    "    lu_byte reserved;\n    unsigned int hash;\n",
                    "    lu_byte reserved;\n    lu_byte hashed;\n    unsigned int hash;\n",
                ),
            ),
            (
                "ltable.c",
                Replace(
                    "#define hashstr(t,str)  hashpow2(t, (str)->tsv.hash)\n",
                    "#define hashstr(t,str)  hashpow2(t, luaS_keyhash(str))\n",
                ),
            ),
            ("lstring.c", Replace("  ts->tsv.hash = h;\n", "  ts->tsv.hashed = 0;\n")),
        ],
    },
    Change {
        why: "Strings are told apart by another hash, which is not kept: the lists of strings grow and \
              shrink seldom, and it is made anew then.",
        edits: &[
            ("lstring.c", After("#include \"lstring.h\"\n", "#include \"hash.h\"\n")),
            (
                "lstring.c",
                Replace(
                    "      unsigned int h = gco2ts(p)->hash;\n",
                    "      unsigned int h = hashtext(getstr(rawgco2ts(p)), gco2ts(p)->len);\n",
                ),
            ),
            (
                "lstring.c",
                Replace(
                    "  unsigned int h = cast(unsigned int, l);  /* seed */
  size_t step = (l>>5)+1;  /* if string is too long, don't hash all its chars */
  size_t l1;
  for (l1=l; l1>=step; l1-=step)  /* compute hash */
    h = h ^ ((h<<5)+(h>>2)+cast(unsigned char, str[l1-1]));
  for (o = G(L)",
                    "  unsigned int h = hashtext(str, l);
  for (o = G(L)",
                ),
            ),
        ],
    },
    Change {
        why: "Most texts that are read as numbers are short integers: a double holds one of 15 digits, so \
              that is what the C library would make of it.",
        edits: &[
            (
                "lobject.c",
                After(
                    "  if (len > LONGNUMERAL) return luaO_longnumeral(L, s, result);\n",
                    "  if (shortinteger(s, result)) return 1;\n",
                ),
            ),
            (
                "lobject.c",
                Before(
                    "int luaO_str2d (lua_State *L, const char *s, size_t len, lua_Number *result) {\n",
                    "/* digits alone, of which a double holds any */
static int shortinteger (const char *s, lua_Number *result) {
  long value = 0;
  int i;
  for (i = 0; i < 15 && s[i] >= '0' && s[i] <= '9'; i++)
    value = value * 10 + (s[i] - '0');
  if (i == 0 || s[i] != '\\0') return 0;
  *result = cast_num(value);
  return 1;
}

",
                ),
            ),
        ],
    },
    Change {
        why: "Globals, fields, elements and methods that are there are found without a call.",
        edits: &[
            ("lvm.c", After("#include \"lvm.h\"\n", "#include \"lookup.h\"\n")),
            (
                "lvm.c",
                Before("        Protect(luaV_gettable(L, &g, rb, ra));\n", "        getfast(&g, rb, ra);\n"),
            ),
            (
                "lvm.c",
                Before(
                    "        Protect(luaV_gettable(L, RB(i), RKC(i), ra));\n",
                    "        getfast(RB(i), RKC(i), ra);\n",
                ),
            ),
            (
                "lvm.c",
                Before(
                    "        Protect(luaV_gettable(L, rb, RKC(i), ra));\n",
                    "        getfast(rb, RKC(i), ra);\n",
                ),
            ),
        ],
    },
];
