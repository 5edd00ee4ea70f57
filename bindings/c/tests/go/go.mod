module kal/storm

go 1.19
