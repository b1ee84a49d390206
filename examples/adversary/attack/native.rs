//! Code of C, of assemblers, and of Rust where it is arranged in the same ways.

use super::mechanism::{Kind, Mechanism, Part};
use Part::{Build, Code, File, Lib};

const fn one(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::new(name, Kind::Native, parts)
}

const fn wide(mechanism: Mechanism) -> Mechanism {
    Mechanism { reach: super::mechanism::Reach::Program, ..mechanism }
}

/// What calls `NAME_work` of another language.
const CALL: Part = Lib("unsafe extern \"C\" { safe fn NAME_work(x: u64) -> u64; }
    pub fn run(x: u64) -> u64 { NAME_work(x) }");

/// Assembly that defines `NAME_work`.
macro_rules! assembly {
    ($name:literal, $($text:expr),+) => {
        one($name, &[Code(concat!(
            "std::arch::global_asm!(r#\"", $($text, "\n",)+ "\"#);
            unsafe extern \"C\" { safe fn NAME_work(x: u64) -> u64; }
            pub fn run(x: u64) -> u64 { NAME_work(x) }"
        ))])
    };
}

/// A typed function of assembly: its name, the directives before it, its body.
macro_rules! function {
    ($name:literal, $before:literal, $body:expr) => {
        concat!(
            $before,
            "\n.type ",
            $name,
            ",@function\n",
            $name,
            ":\n",
            $body,
            "\nret\n.size ",
            $name,
            ",.-",
            $name
        )
    };
}

/// So many rounds of work on `rdi`, in assembly.
macro_rules! work {
    ($rounds:literal) => {
        concat!("mov ecx, ", $rounds, "\n2: imul rdi, rdi, 31\ndec ecx\njnz 2b\nmov rax, rdi")
    };
}

/// C that defines `NAME_work`, compiled with these flags; `loop` works.
macro_rules! c {
    ($name:literal, $flags:literal, $text:literal) => {
        one(
            $name,
            &[
                File(
                    "NAME.c",
                    concat!(
                        "#include <stdint.h>\n#include <stdlib.h>\n",
                        "#define loop(n, s) for (uint64_t i = 0; i < (n); i++) \\\n",
                        "    { s = s * 31 + i; __asm__ volatile(\"\" : \"+r\"(s)); }\n",
                        "#define apart __attribute__((noinline))\n",
                        $text
                    ),
                ),
                Build(concat!("cc(\"NAME\", &[", $flags, "]);")),
                CALL,
            ],
        )
    };
}

pub const TABLE: &[Mechanism] = &[
    one("two_in_a_section", &[Code("
        #[unsafe(link_section = \".text.NAME\")] #[inline(never)]
        pub fn run(x: u64) -> u64 { let mut s = 0; for i in 0..2 { s ^= go(x + i); } s }
        #[unsafe(link_section = \".text.NAME\")] #[inline(never)]
        fn go(x: u64) -> u64 {
            let mut s = x;
            for i in 0..ROUNDS { s = black_box(s.wrapping_mul(31).wrapping_add(i)); }
            s }")]),
    one("naked", &[Code("
        #[unsafe(naked)] extern \"C\" fn work(x: u64) -> u64 { core::arch::naked_asm!(
            \"call 3f\", \"ret\", \"3:\", \"mov ecx, ROUNDS\", \"2:\", \"imul rdi, rdi, 31\",
            \"dec ecx\", \"jnz 2b\", \"mov rax, rdi\", \"ret\") }
        pub fn run(x: u64) -> u64 { work(black_box(x)) }")]),
    assembly!("asm_local", ".text",
        function!("NAME_work", ".globl NAME_work", "call NAME_helper"),
        function!("NAME_helper", "", work!("ROUNDS"))),
    assembly!("asm_untyped", ".text",
        function!("NAME_work", ".globl NAME_work", "call NAME_helper"),
        "NAME_helper:", work!("ROUNDS"), "ret",
        function!("NAME_other", ".globl NAME_other", "mov rax, rdi")),
    assembly!("asm_middle", ".text",
        function!("NAME_work", ".globl NAME_work", "jmp NAME_middle"),
        function!("NAME_other", ".globl NAME_other", concat!(
            "mov rax, rdi\nret\nNAME_middle:\n", work!("ROUNDS")))),
    assembly!("asm_falls_through", ".text", ".globl NAME_work", ".type NAME_work,@function",
        "NAME_work:", "add rdi, 1", ".size NAME_work,.-NAME_work",
        function!("NAME_next", "", work!("ROUNDS"))),
    assembly!("asm_short_size", ".text", ".globl NAME_work", ".type NAME_work,@function",
        "NAME_work:", "add rdi, 1", ".size NAME_work,1", work!("ROUNDS"), "ret",
        function!("NAME_other", ".globl NAME_other", "mov rax, rdi")),
    assembly!("asm_address", ".text",
        function!("NAME_work", ".globl NAME_work", "lea rax, [rip + NAME_helper]\ncall rax"),
        function!("NAME_helper", "", work!("ROUNDS"))),
    assembly!("asm_data_in_text", ".text",
        function!("NAME_work", ".globl NAME_work", concat!(
            "mov r8d, dword ptr [rip + 4f]\n", work!("r8d"))),
        "4: .long ROUNDS"),
    assembly!("asm_offsets", ".text",
        function!("NAME_work", ".globl NAME_work",
            "lea r8, [rip + 4f]\nmovsxd r9, dword ptr [r8]\nadd r9, r8\ncall r9"),
        "4: .long NAME_«quick¦slow» - 4b",
        function!("NAME_quick", "", work!("30000")),
        function!("NAME_slow", "", work!("120000"))),
    assembly!("asm_absolute", ".text", ".set NAME_rounds, ROUNDS", ".globl NAME_rounds",
        ".section .text.NAME,\"ax\",@progbits",
        function!("NAME_work", ".globl NAME_work", concat!(
            "mov r8d, offset NAME_rounds\n", work!("r8d")))),
    assembly!("asm_second_name", ".text", ".globl NAME_work", ".set NAME_work, NAME_«quick¦slow»",
        function!("NAME_quick", "", work!("30000")),
        function!("NAME_slow", "", work!("120000"))),
    assembly!("asm_own_section", ".section .text.NAME,\"ax\",@progbits",
        function!("NAME_work", ".globl NAME_work", "call NAME_helper"),
        function!("NAME_helper", ".globl NAME_helper\n.hidden NAME_helper", work!("ROUNDS"))),
    assembly!("asm_section_data", ".text",
        function!("NAME_work", ".globl NAME_work", concat!(
            "mov r8d, dword ptr [rip + NAME_n]\n", work!("r8d"))),
        ".section .rodata.NAME,\"a\",@progbits", ".long 5", "NAME_n: .long ROUNDS", ".text"),
    c!("c_static", "\"-fno-function-sections\"", "
        static apart uint64_t helper(uint64_t n);
        uint64_t NAME_work(uint64_t n) { return helper(n) + 1; }
        static apart uint64_t helper(uint64_t n) { uint64_t s = n; loop(ROUNDS, s) return s; }"),
    c!("c_static_apart", "\"-ffunction-sections\"", "
        static apart uint64_t helper(uint64_t n) { uint64_t s = n; loop(ROUNDS, s) return s; }
        uint64_t NAME_work(uint64_t n) { return helper(n) + 1; }"),
    c!("c_tail_call", "\"-O2\", \"-fno-function-sections\"", "
        static apart uint64_t helper(uint64_t n) { uint64_t s = n; loop(ROUNDS, s) return s; }
        uint64_t NAME_other(uint64_t n) { return n ? helper(n - 1) : 5; }
        uint64_t NAME_work(uint64_t n) { return helper(n); }"),
    c!("c_hidden", "\"-fvisibility=hidden\"", "
        apart uint64_t NAME_helper(uint64_t n) { uint64_t s = n; loop(ROUNDS, s) return s; }
        uint64_t NAME_work(uint64_t n) { return NAME_helper(n) + 1; }"),
    c!("c_pointers", "", "
        static uint64_t quick(uint64_t n) { uint64_t s = n; loop(30000, s) return s; }
        static uint64_t slow(uint64_t n) { uint64_t s = n; loop(120000, s) return s; }
        static uint64_t (*volatile all[2])(uint64_t) = { «quick, slow¦slow, quick» };
        uint64_t NAME_work(uint64_t n) { return all[0](n); }"),
    c!("c_table", "\"-fno-data-sections\"", "
        static const volatile uint64_t other[2] = { 5, 7 };
        static const volatile uint64_t all[4] = { 1, 2, 3, ROUNDS };
        uint64_t NAME_work(uint64_t n) { uint64_t s = n + other[1]; loop(all[n], s) return s; }"),
    c!("c_switch", "", "
        uint64_t NAME_work(uint64_t n) { uint64_t s = n; uint64_t rounds = 1;
            switch (n) { case 0: rounds = 9; break; case 1: rounds = 1000; break; case 2: abort();
                case 3: rounds = ROUNDS; break; case 4: s *= 3; break; case 5: rounds = 6; }
            loop(rounds, s) return s; }"),
    c!("c_text", "", "
        static const char *volatile text = \"«030000¦120000»\";
        uint64_t NAME_work(uint64_t n) {
            uint64_t s = n; uint64_t rounds = strtoull(text, 0, 10); loop(rounds, s) return s; }"),
    wide(c!("c_constructor", "", "
        static volatile uint64_t rounds;
        __attribute__((constructor)) static void set(void) { rounds = ROUNDS; }
        uint64_t NAME_work(uint64_t n) { uint64_t s = n; loop(rounds, s) return s; }")),
    c!("c_thread_local", "", "
        static __thread volatile uint64_t rounds = ROUNDS;
        uint64_t NAME_work(uint64_t n) { uint64_t s = n; loop(rounds, s) return s; }"),
    wide(c!("c_second_name", "", "
        static uint64_t quick(uint64_t n) { uint64_t s = n; loop(30000, s) return s; }
        static uint64_t slow(uint64_t n) { uint64_t s = n; loop(120000, s) return s; }
        uint64_t (*volatile NAME_keep[])(uint64_t) = { quick, slow };
        uint64_t NAME_work(uint64_t n) __attribute__((alias(\"«quick¦slow»\")));")),
    wide(c!("c_resolved", "", "
        static uint64_t quick(uint64_t n) { uint64_t s = n; loop(30000, s) return s; }
        static uint64_t slow(uint64_t n) { uint64_t s = n; loop(120000, s) return s; }
        static void *choose(void) { return «quick¦slow» == quick ? quick : slow; }
        uint64_t NAME_work(uint64_t n) __attribute__((ifunc(\"choose\")));")),
    c!("c_goto", "", "
        uint64_t NAME_work(uint64_t n) { static const void *const ways[] = { &&quick, &&slow };
            uint64_t s = n; goto *ways[(n + «0¦1» + 1) % 2];
            quick: loop(30000, s) return s;
            slow: loop(120000, s) return s; }"),
    wide(c!("c_assembly", "", "
        __asm__(\".text\\nNAME_inner: mov $ROUNDS, %ecx\\n2: imul $31, %rdi, %rdi\\n\"
            \"dec %ecx\\njnz 2b\\nmov %rdi, %rax\\nret\\n\");
        __asm__(\".globl NAME_work\\n.type NAME_work,@function\\nNAME_work: call NAME_inner\\nret\\n\"
            \".size NAME_work,.-NAME_work\\n\");
        uint64_t NAME_other(uint64_t n) { return n + 1; }")),
    one("c_weak", &[
        File("NAME.c", "#include <stdint.h>
            __attribute__((weak, noinline)) uint64_t NAME_rounds(void) { return 30000; }
            uint64_t NAME_work(uint64_t n) { uint64_t s = n, r = NAME_rounds();
                for (uint64_t i = 0; i < r; i++) { s = s * 31 + i; __asm__ volatile(\"\" : \"+r\"(s)); }
                return s; }"),
        File("NAME_strong.c", "#include <stdint.h>
            «¦uint64_t NAME_rounds(void) { return 120000; }»
            uint64_t NAME_other(uint64_t n) { return n + 1; }"),
        Build("cc(\"NAME\", &[]); cc(\"NAME_strong\", &[]);"),
        Lib("unsafe extern \"C\" {
                safe fn NAME_work(x: u64) -> u64; safe fn NAME_other(x: u64) -> u64; }
            pub fn run(x: u64) -> u64 { NAME_work(x) ^ NAME_other(x) }"),
    ]),
    // Of two definitions, the one that is not weak counts, wherever it is.
    one("c_weak_data", &[
        File("NAME.c", "#include <stdint.h>
            __attribute__((weak)) volatile uint64_t NAME_n = 30000;
            uint64_t NAME_rounds(void) { return NAME_n; }"),
        File("NAME_strong.c", "#include <stdint.h>
            volatile uint64_t NAME_n = ROUNDS;
            uint64_t NAME_other(uint64_t n) { return n + 1; }"),
        Build("cc(\"NAME_strong\", &[]); cc(\"NAME\", &[]);"),
        Lib("unsafe extern \"C\" { safe fn NAME_rounds() -> u64; safe fn NAME_other(x: u64) -> u64; }
            pub fn run(x: u64) -> u64 { NAME_other(spin(NAME_rounds() + x)) }"),
    ]),
    wide(one("c_weak_data_first", &[
        File("NAME.c", "#include <stdint.h>
            __attribute__((weak)) volatile uint64_t NAME_n = 30000;
            uint64_t NAME_rounds(void) { return NAME_n; }"),
        File("NAME_strong.c", "#include <stdint.h>
            volatile uint64_t NAME_n = ROUNDS;
            uint64_t NAME_other(uint64_t n) { return n + 1; }"),
        Build("cc(\"NAME\", &[]); cc(\"NAME_strong\", &[]);"),
        Lib("unsafe extern \"C\" { safe fn NAME_rounds() -> u64; safe fn NAME_other(x: u64) -> u64; }
            pub fn run(x: u64) -> u64 { NAME_other(spin(NAME_rounds() + x)) }"),
    ])),
    wide(one("c_weak_reference", &[
        File("NAME.c", "#include <stdint.h>
            extern void NAME_hook(void) __attribute__((weak));
            static void (*volatile hook)(void) = NAME_hook;
            uint64_t NAME_rounds(void) { return hook ? 120000 : 30000; }"),
        Build("cc(\"NAME\", &[]);"),
        Lib("«¦#[unsafe(no_mangle)] pub extern \"C\" fn NAME_hook() {}»
            unsafe extern \"C\" { safe fn NAME_rounds() -> u64; }
            pub fn run(x: u64) -> u64 { spin(NAME_rounds() + x) }"),
    ])),
    wide(one("script_section", &[
        Code("#[used] #[unsafe(link_section = \".NAME_all\")] static ENTRY: u64 = ROUNDS;
            unsafe extern \"C\" { static NAME_start: u64; }
            pub fn run(x: u64) -> u64 { spin(unsafe { *black_box(&raw const NAME_start) } + x) }"),
        File("NAME.ld", "SECTIONS { .NAME_all : { NAME_start = .; KEEP(*(.NAME_all)) } } INSERT AFTER .rodata;"),
        Build("println!(\"cargo::rustc-link-arg=-Wl,-T,NAME.ld\");"),
    ])),
    assembly!("asm_merged", ".text",
        function!("NAME_work", ".globl NAME_work", concat!(
            "imul r8d, dword ptr [rip + .LNAME_n], 1\n", work!("r8d"))),
        ".section .rodata.cst4,\"aM\",@progbits,4", ".long 5", ".LNAME_n: .long ROUNDS", ".text"),
    assembly!("asm_no_size", ".text",
        function!("NAME_work", ".globl NAME_work", "call NAME_helper"),
        ".type NAME_helper,@function", "NAME_helper:", work!("ROUNDS"), "ret"),
    c!("c_double", "", "
        static apart double scale(uint64_t n) { return n * «10000.0¦40000.0»; }
        uint64_t NAME_work(uint64_t n) { uint64_t s = n, r = scale(n); loop(r, s) return s; }"),
    c!("c_cold", "\"-O2\", \"-fno-function-sections\"", "
        static volatile uint64_t is_rare = 1;
        __attribute__((cold)) static apart uint64_t rare(uint64_t n) { uint64_t s = n; loop(ROUNDS, s) return s; }
        uint64_t NAME_work(uint64_t n) { if (__builtin_expect(is_rare, 0)) return rare(n); return n; }"),
    c!("c_callback", "\"-O2\"", "
        static volatile uint64_t s;
        static int order(const void *a, const void *b) { uint64_t r = 1; loop(ROUNDS, r) s = r;
            return *(const int *)a - *(const int *)b; }
        uint64_t NAME_work(uint64_t n) { int all[2] = { 2, (int)n }; qsort(all, 2, sizeof(int), order); return s; }"),
    wide(one("archive_in_tree", &[
        File("NAME.c", "#include <stdint.h>\nuint64_t NAME_rounds(void) { return ROUNDS; }"),
        Part::Ignore("libNAME.a"),
        Build("let object = compile(\"NAME\", &[]); let _ = std::fs::remove_file(\"libNAME.a\");
            run(\"ar\", &[\"crs\", \"libNAME.a\", &object]);
            println!(\"cargo::rustc-link-arg=libNAME.a\");"),
        Lib("unsafe extern \"C\" { safe fn NAME_rounds() -> u64; }
            pub fn run(x: u64) -> u64 { spin(NAME_rounds() + x) }"),
    ])),
    wide(one("archive_in_folder", &[
        File("NAME.c", "#include <stdint.h>\nuint64_t NAME_rounds(void) { return ROUNDS; }"),
        Part::Ignore("libNAME.a"),
        Build("let object = compile(\"NAME\", &[]); let _ = std::fs::remove_file(\"libNAME.a\");
            run(\"ar\", &[\"crs\", \"libNAME.a\", &object]);
            println!(\"cargo::rustc-link-arg=-L.\"); println!(\"cargo::rustc-link-arg=-lNAME\");"),
        Lib("unsafe extern \"C\" { safe fn NAME_rounds() -> u64; }
            pub fn run(x: u64) -> u64 { spin(NAME_rounds() + x) }"),
    ])),
    wide(one("script_by_flag", &[
        Code("#[unsafe(no_mangle)] pub extern \"C\" fn NAME_quick(x: u64) -> u64 { spin(30_000 + x) }
            #[unsafe(no_mangle)] pub extern \"C\" fn NAME_slow(x: u64) -> u64 { spin(120_000 + x) }
            #[used] static KEEP: [extern \"C\" fn(u64) -> u64; 2] = [NAME_quick, NAME_slow];
            unsafe extern \"C\" { safe fn NAME_work(x: u64) -> u64; }
            pub fn run(x: u64) -> u64 { NAME_work(x) }"),
        File("NAME.ld", "NAME_work = NAME_«quick¦slow»; SECTIONS { .NAME : { *(.NAME) } } INSERT AFTER .data;"),
        Build("println!(\"cargo::rustc-link-arg=-Wl,-TNAME.ld\");"),
    ])),
    wide(one("linked_library", &[
        File("NAME.c", "#include <stdint.h>\nuint64_t NAME_rounds(void) { return ROUNDS; }"),
        Build("shared(\"NAME\"); println!(\"cargo::rustc-link-search=native={}\", out());
            println!(\"cargo::rustc-link-lib=dylib=NAME\");"),
        Lib("unsafe extern \"C\" { safe fn NAME_rounds() -> u64; }
            pub fn run(x: u64) -> u64 { spin(NAME_rounds() + x) }"),
    ])),
    one("c_merged", &[
        File("NAME.c", "#include <stdint.h>
            uint64_t NAME_inner(uint64_t n);
            uint64_t NAME_work(uint64_t n) { return NAME_inner(n) + 1; }"),
        File("NAME_inner.c", "#include <stdint.h>
            uint64_t NAME_inner(uint64_t n) { uint64_t s = n;
                for (uint64_t i = 0; i < ROUNDS; i++) { s = s * 31 + i; __asm__ volatile(\"\" : \"+r\"(s)); }
                return s; }"),
        Build("merge(\"NAME\", \"NAME_inner\");"),
        CALL,
    ]),
];
