//! The formulas, in Kal and as expressions of SQL.

/// A formula over columns of the table.
pub struct Formula {
    pub title: &'static str,
    pub name: &'static str,
    pub columns: &'static [&'static str],
    /// In Kal.
    pub body: &'static str,
    /// In SQL, without functions of users.
    own: fn() -> String,
}

impl Formula {
    /// Returns the statement that creates its function.
    pub fn create(&self) -> String {
        let parameters: Vec<String> = self.columns.iter().map(|column| format!("{column} DOUBLE")).collect();
        format!(
            "CREATE OR REPLACE FUNCTION {}({}) RETURNS DOUBLE LANGUAGE kal AS '{}'",
            self.name,
            parameters.join(", "),
            self.body
        )
    }

    /// Returns the expression of SQL.
    pub fn expression(&self) -> String {
        (self.own)()
    }
}

pub const FORMULAS: &[Formula] = &[
    Formula {
        title: "K1: a * x + b",
        name: "line",
        columns: &["s", "k", "t"],
        body: "def line(a x b) a * x + b",
        own: || "s * k + t".into(),
    },
    Formula {
        title: "K3: brackets of a tax",
        name: "tax",
        columns: &["income"],
        body: "def tax(x)
  if x < 10000 then 0
  else if x < 30000 then (x - 10000) * 0.14
  else if x < 60000 then 2800 + (x - 30000) * 0.24
  else if x < 250000 then 10000 + (x - 60000) * 0.42
  else 89800 + (x - 250000) * 0.45",
        own: || {
            "CASE WHEN income < 10000 THEN 0 WHEN income < 30000 THEN (income - 10000) * 0.14
             WHEN income < 60000 THEN 2800 + (income - 30000) * 0.24
             WHEN income < 250000 THEN 10000 + (income - 60000) * 0.42
             ELSE 89800 + (income - 250000) * 0.45 END"
                .into()
        },
    },
    // SQL has no `erfc`, so the normal distribution is a polynomial here, for all.
    Formula {
        title: "K4: Black–Scholes",
        name: "option",
        columns: &["s", "k", "t"],
        body: "def tail(x) var u = 1 / (1 + 0.2316419 * fabs(x)) in
    0.3989422804014327 * exp(-x * x / 2) * u * (0.31938153 + u * (-0.356563782 + u * (1.781477937 + u * (-1.821255978 + u * 1.330274429))))
def normal(x) if x < 0 then tail(x) else 1 - tail(x)
def option(s k t)
  var d = (log(s / k) + 0.065 * t) / (0.3 * sqrt(t)) in
    s * normal(d) - k * exp(-0.02 * t) * normal(d - 0.3 * sqrt(t))",
        own: || {
            let d = "((ln(s / k) + 0.065 * t) / (0.3 * sqrt(t)))";
            let e = format!("({d} - 0.3 * sqrt(t))");
            format!("s * {} - k * exp(-0.02 * t) * {}", normal(d), normal(&e))
        },
    },
    Formula {
        title: "K8: functions that call each other",
        name: "nested",
        columns: &["s", "k"],
        body: "def k0(x) x + 1
def k1(x) k0(x) * 0.5
def k2(x) if k1(x) > 1 then k1(x) - 1 else k0(x)
def k3(x) k2(x) + k1(x)
def k4(x) k3(x) * 0.25
def k5(x y) k4(x) + k4(y)
def k6(x y) if k5(x, y) > x then k5(x, y) else y
def k7(x y) k6(x, y) - k6(y, x)
def nested(x y) k7(x, y) * 2 + k7(y, x)",
        own: || {
            let k0 = |x: &str| format!("({x} + 1)");
            let k1 = |x: &str| format!("({} * 0.5)", k0(x));
            let k2 = |x: &str| format!("(CASE WHEN {} > 1 THEN {} - 1 ELSE {} END)", k1(x), k1(x), k0(x));
            let k4 = |x: &str| format!("(({} + {}) * 0.25)", k2(x), k1(x));
            let k5 = |x: &str, y: &str| format!("({} + {})", k4(x), k4(y));
            let k6 = |x: &str, y: &str| format!("(CASE WHEN {} > {x} THEN {} ELSE {y} END)", k5(x, y), k5(x, y));
            let k7 = |x: &str, y: &str| format!("({} - {})", k6(x, y), k6(y, x));
            format!("{} * 2 + {}", k7("s", "k"), k7("k", "s"))
        },
    },
];

/// Returns the normal distribution in SQL.
fn normal(x: &str) -> String {
    let u = format!("(1 / (1 + 0.2316419 * abs({x})))");
    let tail = format!(
        "(0.3989422804014327 * exp(-{x} * {x} / 2) * {u} * (0.31938153 + {u} * (-0.356563782 + {u} * (1.781477937 + {u} * (-1.821255978 + {u} * 1.330274429)))))"
    );
    format!("(CASE WHEN {x} < 0 THEN {tail} ELSE 1 - {tail} END)")
}
