//! Shorter ways for what lock scripts do most.

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
