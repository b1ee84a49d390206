//! Parsing numbers fast: a long file has many of them.

/// The powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The plain decimal at the beginning of `text`, such as `17` or `0.0125`, and
/// how many bytes it takes. `None` where there is none, or one with so many digits
/// that rounding it takes more care: those are for [`slow`].
///
/// Digits below 2^53 and a power of ten up to 22 are both exact, so that their
/// quotient is rounded once, and correctly (Clinger 1990, *How to read floating
/// point numbers accurately*).
pub(super) fn fast(text: &[u8]) -> Option<(f64, usize)> {
    let mut digits: u64 = 0;
    let mut at = 0;
    let mut take = |from: usize| {
        let mut at = from;
        while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0'))
            && digit < 10
        {
            digits = digits.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        }
        at - from
    };
    let whole = take(at);
    at += whole;
    let mut places = 0;
    if text.get(at) == Some(&b'.') {
        places = take(at + 1);
        at += 1 + places;
    }
    let count = whole + places;
    let exact = (1..=19).contains(&count) && digits <= 1 << 53;
    exact.then(|| (digits as f64 / POWERS[places], at))
}

/// Any number that Rust can parse.
pub(super) fn slow(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_way_gives_what_the_slow_one_gives() {
        let mut state = 1_u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let digits = (state >> 11) >> (state % 50);
            let places = (state >> 7) as usize % 20;
            let text = format!("{digits:0width$}", width = places + 1);
            let (whole, rest) = text.split_at(text.len() - places);
            let text = if places == 0 { whole.to_owned() } else { format!("{whole}.{rest}") };
            if let Some((value, length)) = fast(text.as_bytes()) {
                assert_eq!((Some(value), length), (slow(&text), text.len()), "{text}");
            }
        }
    }

    #[test]
    fn reading_stops_where_the_number_does() {
        assert_eq!(fast(b"0.25,7"), Some((0.25, 4)));
        assert_eq!(fast(b"7\n"), Some((7.0, 1)));
        assert_eq!(fast(b"1e3"), Some((1.0, 1)));
        assert_eq!(fast(b".5"), Some((0.5, 2)));
        for none in ["", ".", "-1", "nan", "12345678901234567890", "9.007199254740993"] {
            assert_eq!(fast(none.as_bytes()), None, "{none}");
        }
    }
}
