/* What is added to Lua: seen by the files of the interpreter and of its libraries. */

#ifndef host_h
#define host_h

#include "lobject.h"

/*
** The test for an interruption, for every loop that a script can make long, and the same once in so many bytes. The
** word belongs to the host, and any thread may write it.
*/
#define luai_pending(L) (*G(L)->interrupt & G(L)->interruptmask)
#define luai_poll(L) { if (luai_pending(L)) luaD_poll(L); }
#define luai_polleach(L,p) { if (((size_t)(p) & 0x3fff) == 0) luai_poll(L); }

/* Asks the host; may raise an error that nothing catches. */
LUAI_FUNC void luaD_poll (lua_State *L);
/* Whether the run was ended so: then the error is raised again wherever it is caught. */
LUA_API int lua_iskilled (lua_State *L);

/* The hash of a string that is a key, in whose order `pairs' goes: as in Redis it is Lua's own, but over all bytes. */
#define luaS_keyhash(ts) ((ts)->tsv.hashed ? (ts)->tsv.hash : luaS_hashkey(ts))
LUAI_FUNC unsigned int luaS_hashkey (TString *ts);

/* Texts of numbers beyond this length are read in steps, between which an interruption is seen. */
#define LONGNUMERAL 4096
LUAI_FUNC int luaO_longnumeral (lua_State *L, const char *s, lua_Number *result);
LUAI_FUNC unsigned long luaO_longinteger (lua_State *L, const char *s, char **end, int base);

/* The node of tables without fields. */
LUAI_DATA const Node luaH_dummynode;

#endif
