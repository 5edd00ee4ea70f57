module kal/formula

go 1.19
