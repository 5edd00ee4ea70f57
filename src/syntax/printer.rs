//! stub
pub fn tokens(_t:&super::token::Tokens,_s:&crate::source::Source,_n:&crate::name::Names)->String{String::new()}
pub fn tree(_t:&super::ast::Item,_n:&crate::name::Names)->String{String::new()}
