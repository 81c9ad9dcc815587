//! The canonical form, by example: order, white space, strings, numbers, and the widening.
//!
//! What is refused is tested elsewhere.

use piton_ledger::json::canonicalize;

/// Checks the form of a text, and that the form is its own form.
#[track_caller]
fn check(input: &str, expected: &str) {
    assert_eq!(canonicalize(input.as_bytes()).as_deref(), Ok(expected));
    assert_eq!(canonicalize(expected.as_bytes()).as_deref(), Ok(expected));
}

#[test]
fn scalars_and_empty_containers_lose_only_white_space() {
    for text in ["null", "true", "false", "0", "\"\"", "[]", "{}"] {
        check(text, text);
        check(&format!(" \t\r\n{text}\n\r\t "), text);
    }
    check("[ ]", "[]");
    check("{\n}", "{}");
    check("[ 1 ,\t[ ] , { \"a\" : { } } ]", r#"[1,[],{"a":{}}]"#);
}

#[test]
fn primitive_values_follow_the_rfc_example() {
    check(
        r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#,
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
    );
}

#[test]
fn keys_sort_as_in_the_rfc_example() {
    check(
        r#"{
            "\u20ac": "Euro Sign",
            "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face",
            "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"
        }"#,
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
         \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
         \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
    );
}

#[test]
fn weird_keys_sort_by_meaning_not_by_spelling() {
    check(
        r#"{"</script>":1,"\u00f6":2,"\ud83d\ude02":3,"\u0080":"\u007f","1":5,"\u000a":6,"\r":7}"#,
        "{\"\\n\":6,\"\\r\":7,\"1\":5,\"</script>\":1,\"\u{80}\":\"\u{7f}\",\"ö\":2,\"😂\":3}",
    );
    // A backslash is U+005C, between "Z" and "a", though a quote's escape starts with it too.
    check(
        r#"{"a":1,"\\":2,"Z":3,"\"":4,"!":5}"#,
        r#"{"!":5,"\"":4,"Z":3,"\\":2,"a":1}"#,
    );
}

#[test]
fn nested_structures_sort_at_every_level() {
    check(
        "[56, {\"d\": true, \"10\": null, \"1\": [ ]}]",
        r#"[56,{"1":[],"10":null,"d":true}]"#,
    );
    check(
        r#"{"1": {"f": {"f": "hi", "F": 5}, "\n": 56.0}, "10": { }, "": "empty", "a": { },
            "111": [{"e": "yes", "E": "no"}], "A": { }}"#,
        r#"{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}"#,
    );
    // Outer members are in order and inner ones are not, and the other way round.
    check(
        r#"{"a":{"y":1,"x":2},"b":[{"q":1,"p":2}]}"#,
        r#"{"a":{"x":2,"y":1},"b":[{"p":2,"q":1}]}"#,
    );
    check(
        r#"{"b":{"x":1,"y":2},"a":3}"#,
        r#"{"a":3,"b":{"x":1,"y":2}}"#,
    );
    check(
        r#"[{"b":{"d":1,"c":2},"a":3},4]"#,
        r#"[{"a":3,"b":{"c":2,"d":1}},4]"#,
    );
}

#[test]
fn a_key_sorts_before_its_extensions() {
    check(
        r#"{"aa":1,"":2,"a":3,"aaa":4}"#,
        r#"{"":2,"a":3,"aa":1,"aaa":4}"#,
    );
}

#[test]
fn many_members_sort() {
    let keys: Vec<String> = (0..500).map(|number| format!("{number:03}")).collect();
    let members = |keys: &mut dyn Iterator<Item = &String>| {
        let members: Vec<String> = keys.map(|key| format!("\"{key}\":\"{key}\"")).collect();
        format!("{{{}}}", members.join(","))
    };
    check(&members(&mut keys.iter().rev()), &members(&mut keys.iter()));
}

#[test]
fn keys_sort_by_utf16_units_not_by_bytes_or_code_points() {
    // In UTF-16 a surrogate pair (D800 to DFFF) is below U+E000 to U+FFFF; in UTF-8 it is above.
    for private in ["\u{e000}", "\u{efff}", "\u{f000}", "\u{ffff}"] {
        for astral in [
            "\u{10000}",
            "\u{3ffff}",
            "\u{40000}",
            "\u{fffff}",
            "\u{10ffff}",
        ] {
            let expected = format!("{{\"x{astral}\":1,\"x{private}\":2}}");
            check(&format!("{{\"x{private}\":2,\"x{astral}\":1}}"), &expected);
        }
    }
    // Below the surrogates the orders agree: U+D7FF has the lead byte ED.
    check(
        "{\"\u{10000}\":1,\"\u{d7ff}\":2,\"\u{800}\":3,\"\u{7ff}\":4,\"\u{7f}\":5}",
        "{\"\u{7f}\":5,\"\u{7ff}\":4,\"\u{800}\":3,\"\u{d7ff}\":2,\"\u{10000}\":1}",
    );
    // Within each group too, where the difference is in a later byte.
    check(
        "{\"\u{e001}\":1,\"\u{e000}\":2,\"\u{10001}\":3,\"\u{10000}\":4}",
        "{\"\u{10000}\":4,\"\u{10001}\":3,\"\u{e000}\":2,\"\u{e001}\":1}",
    );
    check(
        "{\"\u{f000}\":1,\"\u{efff}\":2,\"\u{40000}\":3,\"\u{3ffff}\":4}",
        "{\"\u{3ffff}\":4,\"\u{40000}\":3,\"\u{efff}\":2,\"\u{f000}\":1}",
    );
}

#[test]
fn escapes_become_minimal() {
    check(r#""\u0008\u0009\u000A\u000c\u000D""#, r#""\b\t\n\f\r""#);
    check(r#""\b\t\n\f\r\"\\\/""#, r#""\b\t\n\f\r\"\\/""#);
    check(
        r#""\u0000\u000B\u001F\u001f""#,
        r#""\u0000\u000b\u001f\u001f""#,
    );
    check(
        r#""\u0020\u007F\u2028\u2029\ufeff\uFFFF""#,
        "\" \u{7f}\u{2028}\u{2029}\u{feff}\u{ffff}\"",
    );
    check(r#""\ud800\udc00\uDBFF\uDFFF""#, "\"\u{10000}\u{10ffff}\"");
    check(r#""\u0022\u005c\u005C\u002f""#, r#""\"\\\\/""#);
}

#[test]
fn escapes_are_found_at_every_position() {
    for length in 0..20 {
        let before = "x".repeat(length);
        for after in ["", "y", "yyyyyyyyyyyy", "é!#[]"] {
            check(
                &format!("\"{before}\\u000a{after}\""),
                &format!("\"{before}\\n{after}\""),
            );
            check(
                &format!("\"{before}\\/{after}\""),
                &format!("\"{before}/{after}\""),
            );
            check(
                &format!("\"{before}\\\"{after}\""),
                &format!("\"{before}\\\"{after}\""),
            );
            check(
                &format!("\"{before}é\\\\{after}\""),
                &format!("\"{before}é\\\\{after}\""),
            );
        }
    }
}

#[test]
fn text_is_not_normalised() {
    check(r#"{"A\u030a":"\u00c5"}"#, "{\"A\u{30a}\":\"\u{c5}\"}");
}

#[test]
fn numbers_follow_the_rfc_table() {
    let table = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, expected) in table {
        check(&format!("{:e}", f64::from_bits(bits)), expected);
    }
}

#[test]
fn every_spelling_of_a_number_has_one_form() {
    for zero in [
        "0",
        "-0",
        "0.0",
        "-0.0",
        "0e5",
        "-0e5",
        "-0.00E-7",
        "0e99999999999999999999",
    ] {
        check(zero, "0");
    }
    check("[-0,{\"a\":-0.0}]", r#"[0,{"a":0}]"#);
    for one in [
        "1",
        "1.0",
        "1e0",
        "1E+0",
        "1e-0",
        "10e-1",
        "0.1e1",
        "0.01E+002",
    ] {
        check(one, "1");
    }
    check("-1.50", "-1.5");
    check("1e21", "1e+21");
    check("1e-7", "1e-7");
    check("1E-06", "0.000001");
    check("0.1000000000000000055511151231257827", "0.1");
    check("9007199254740993.0", "9007199254740992");
}

#[test]
fn underflow_is_zero() {
    for tiny in ["1e-400", "-1e-400", "2e-324", "1e-99999999999999999999"] {
        check(tiny, "0");
    }
    check("3e-324", "5e-324");
}

#[test]
fn integers_of_64_bits_stay_exact() {
    for integer in [
        "9007199254740991",
        "-9007199254740991",
        "9007199254740993",
        "-9007199254740993",
        "99999999999999999",
        "999999999999999999",
        "-999999999999999999",
        "1234567890123456789",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "18446744073709551615",
    ] {
        check(integer, integer);
    }
}

#[test]
fn larger_integers_survive_only_as_the_print_of_a_double() {
    for double in [
        "18446744073709552000",
        "-9223372036854776000",
        "-18446744073709552000",
        "100000000000000000000",
        "-100000000000000000000",
        "999999999999999900000",
        "-999999999999999900000",
    ] {
        check(double, double);
    }
    check("1e20", "100000000000000000000");
    check("-1.0E20", "-100000000000000000000");
    check("18446744073709551616.0", "18446744073709552000");
    check("-9223372036854775809.0", "-9223372036854776000");
}
