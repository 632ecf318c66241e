//! The digits of a double as Redis 7.2 computes them: the Grisu2 algorithm of Florian Loitsch ("Printing Floating-Point
//! Numbers Quickly and Accurately with Integers", 2010).
//!
//! The digits always read back as the same double. For three numbers of a thousand they are not the shortest, or not
//! the nearest of the shortest. So no better algorithm gives Redis' texts.

/// A number of `fraction` · 2^`exponent`.
#[derive(Clone, Copy)]
struct Float {
    fraction: u64,
    exponent: i32,
}

/// The exponents of a number after multiplication by its cached power: they leave a digit's worth of bits above the
/// point.
const EXPONENTS: std::ops::RangeInclusive<i32> = -60..=-32;
/// The power of ten of the first cached power, and the distance to the next.
const FIRST_POWER: i32 = -348;
const POWER_STEP: i32 = 8;
const LOG10_OF_2: f64 = std::f64::consts::LOG10_2;

/// The digits of a positive finite number, and the power of ten of the last one.
pub(super) fn digits(value: f64, digits: &mut [u8; 20]) -> (usize, i32) {
    let bits = value.to_bits();
    let (low, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let float = match biased {
        0 => Float { fraction: low, exponent: -1074 },
        _ => Float { fraction: low | 1 << 52, exponent: biased - 1075 },
    };
    let upper = Float { fraction: float.fraction * 2 + 1, exponent: float.exponent - 1 }.normalized();
    // Below a power of two, doubles are twice as dense.
    let shift = if float.fraction == 1 << 52 { 2 } else { 1 };
    let lower_exponent = float.exponent - shift;
    let lower = Float {
        fraction: ((float.fraction << shift) - 1) << (lower_exponent - upper.exponent),
        exponent: upper.exponent,
    };
    let (power, ten) = cached_power(upper.exponent);
    let (value, upper, lower) = (float.normalized().times(power), upper.times(power), lower.times(power));
    // One unit inwards, because the products are not exact.
    let upper = Float { fraction: upper.fraction - 1, ..upper };
    let (len, kappa) = generate(value.fraction, upper, lower.fraction + 1, digits);
    (len, kappa - ten)
}

impl Float {
    fn normalized(self) -> Self {
        let shift = self.fraction.leading_zeros();
        Self { fraction: self.fraction << shift, exponent: self.exponent - shift as i32 }
    }

    fn times(self, other: Self) -> Self {
        let product = u128::from(self.fraction) * u128::from(other.fraction) + (1 << 63);
        Self { fraction: (product >> 64) as u64, exponent: self.exponent + other.exponent + 64 }
    }
}

/// The cached power that brings a number of this exponent into [`EXPONENTS`], and its power of ten. If two powers
/// would, the one found first from an estimate, as in Redis.
fn cached_power(exponent: i32) -> (Float, i32) {
    let estimate = f64::from(-(exponent + POWERS.len() as i32)) * LOG10_OF_2;
    let mut index = (estimate as i32 - FIRST_POWER) / POWER_STEP;
    loop {
        let (fraction, power) = POWERS[index as usize];
        let reached = exponent + i32::from(power) + 64;
        if reached < *EXPONENTS.start() {
            index += 1;
        } else if reached > *EXPONENTS.end() {
            index -= 1;
        } else {
            let power = Float { fraction, exponent: i32::from(power) };
            return (power, FIRST_POWER + index * POWER_STEP);
        }
    }
}

/// Generates digits of `upper` until they are sure to stay above `lower`, and moves the last one towards `value`.
/// Returns the number of digits, and the power of ten of the last one.
fn generate(value: u64, upper: Float, lower: u64, digits: &mut [u8; 20]) -> (usize, i32) {
    let point = -upper.exponent;
    let below = (1_u64 << point) - 1;
    let (mut distance, mut delta) = (upper.fraction - value, upper.fraction - lower);
    let (mut whole, mut part) = (upper.fraction >> point, upper.fraction & below);
    let mut len = 0;
    let mut power = 10_u64.pow(9);
    for kappa in (0..10).rev() {
        let digit = whole / power;
        whole %= power;
        push(digit, &mut len, digits);
        let rest = (whole << point) + part;
        if rest <= delta {
            approach(&mut digits[len - 1], delta, rest, power << point, distance);
            return (len, kappa);
        }
        power /= 10;
    }
    let mut kappa = 0;
    loop {
        part *= 10;
        delta *= 10;
        distance *= 10;
        kappa -= 1;
        push(part >> point, &mut len, digits);
        part &= below;
        if part < delta {
            approach(&mut digits[len - 1], delta, part, below + 1, distance);
            return (len, kappa);
        }
    }
}

fn push(digit: u64, len: &mut usize, digits: &mut [u8; 20]) {
    if digit > 0 || *len > 0 {
        digits[*len] = b'0' + digit as u8;
        *len += 1;
    }
}

/// Lowers the last digit, each step worth `unit`, while that brings the number closer to the value and keeps it above
/// the lower end. The value is `distance` below the upper end, the lower end `delta`, and the number now `rest`.
fn approach(digit: &mut u8, delta: u64, mut rest: u64, unit: u64, distance: u64) {
    while rest < distance
        && delta - rest >= unit
        && (rest + unit < distance || distance - rest > rest + unit - distance)
    {
        *digit -= 1;
        rest += unit;
    }
}

/// The powers of ten from 10⁻³⁴⁸ to 10³⁴⁰ in steps of 10⁸: fractions of 64 bits, rounded to the nearest, and their
/// exponents of two.
#[rustfmt::skip]
const POWERS: [(u64, i16); 87] = [
    (0xfa8f_d5a0_081c_0288, -1220), (0xbaae_e17f_a23e_bf76, -1193), (0x8b16_fb20_3055_ac76, -1166),
    (0xcf42_894a_5dce_35ea, -1140), (0x9a6b_b0aa_5565_3b2d, -1113), (0xe61a_cf03_3d1a_45df, -1087),
    (0xab70_fe17_c79a_c6ca, -1060), (0xff77_b1fc_bebc_dc4f, -1034), (0xbe56_91ef_416b_d60c, -1007),
    (0x8dd0_1fad_907f_fc3c, -980), (0xd351_5c28_3155_9a83, -954), (0x9d71_ac8f_ada6_c9b5, -927),
    (0xea9c_2277_23ee_8bcb, -901), (0xaecc_4991_4078_536d, -874), (0x823c_1279_5db6_ce57, -847),
    (0xc210_9436_4dfb_5637, -821), (0x9096_ea6f_3848_984f, -794), (0xd774_85cb_2582_3ac7, -768),
    (0xa086_cfcd_97bf_97f4, -741), (0xef34_0a98_172a_ace5, -715), (0xb238_67fb_2a35_b28e, -688),
    (0x84c8_d4df_d2c6_3f3b, -661), (0xc5dd_4427_1ad3_cdba, -635), (0x936b_9fce_bb25_c996, -608),
    (0xdbac_6c24_7d62_a584, -582), (0xa3ab_6658_0d5f_daf6, -555), (0xf3e2_f893_dec3_f126, -529),
    (0xb5b5_ada8_aaff_80b8, -502), (0x8762_5f05_6c7c_4a8b, -475), (0xc9bc_ff60_34c1_3053, -449),
    (0x964e_858c_91ba_2655, -422), (0xdff9_7724_7029_7ebd, -396), (0xa6df_bd9f_b8e5_b88f, -369),
    (0xf8a9_5fcf_8874_7d94, -343), (0xb944_7093_8fa8_9bcf, -316), (0x8a08_f0f8_bf0f_156b, -289),
    (0xcdb0_2555_6531_31b6, -263), (0x993f_e2c6_d07b_7fac, -236), (0xe45c_10c4_2a2b_3b06, -210),
    (0xaa24_2499_6973_92d3, -183), (0xfd87_b5f2_8300_ca0e, -157), (0xbce5_0864_9211_1aeb, -130),
    (0x8cbc_cc09_6f50_88cc, -103), (0xd1b7_1758_e219_652c, -77), (0x9c40_0000_0000_0000, -50),
    (0xe8d4_a510_0000_0000, -24), (0xad78_ebc5_ac62_0000, 3), (0x813f_3978_f894_0984, 30),
    (0xc097_ce7b_c907_15b3, 56), (0x8f7e_32ce_7bea_5c70, 83), (0xd5d2_38a4_abe9_8068, 109),
    (0x9f4f_2726_179a_2245, 136), (0xed63_a231_d4c4_fb27, 162), (0xb0de_6538_8cc8_ada8, 189),
    (0x83c7_088e_1aab_65db, 216), (0xc45d_1df9_4271_1d9a, 242), (0x924d_692c_a61b_e758, 269),
    (0xda01_ee64_1a70_8dea, 295), (0xa26d_a399_9aef_774a, 322), (0xf209_787b_b47d_6b85, 348),
    (0xb454_e4a1_79dd_1877, 375), (0x865b_8692_5b9b_c5c2, 402), (0xc835_53c5_c896_5d3d, 428),
    (0x952a_b45c_fa97_a0b3, 455), (0xde46_9fbd_99a0_5fe3, 481), (0xa59b_c234_db39_8c25, 508),
    (0xf6c6_9a72_a398_9f5c, 534), (0xb7dc_bf53_54e9_bece, 561), (0x88fc_f317_f222_41e2, 588),
    (0xcc20_ce9b_d35c_78a5, 614), (0x9816_5af3_7b21_53df, 641), (0xe2a0_b5dc_971f_303a, 667),
    (0xa8d9_d153_5ce3_b396, 694), (0xfb9b_7cd9_a4a7_443c, 720), (0xbb76_4c4c_a7a4_4410, 747),
    (0x8bab_8eef_b640_9c1a, 774), (0xd01f_ef10_a657_842c, 800), (0x9b10_a4e5_e991_3129, 827),
    (0xe710_9bfb_a19c_0c9d, 853), (0xac28_20d9_623b_f429, 880), (0x8044_4b5e_7aa7_cf85, 907),
    (0xbf21_e440_03ac_dd2d, 933), (0x8e67_9c2f_5e44_ff8f, 960), (0xd433_179d_9c8c_b841, 986),
    (0x9e19_db92_b4e3_1ba9, 1013), (0xeb96_bf6e_badf_77d9, 1039), (0xaf87_023b_9bf0_ee6b, 1066),
];
