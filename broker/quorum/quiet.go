package quorum

import "fmt"

// quiet is raft's logger: it says nothing, since facts are observed, and panics where raft finds a bug.
type quiet struct{}

func (quiet) Debug(...any)            {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Error(...any)            {}
func (quiet) Errorf(string, ...any)   {}
func (quiet) Info(...any)             {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warning(...any)          {}
func (quiet) Warningf(string, ...any) {}

func (quiet) Fatal(v ...any)            { panic("raft: " + fmt.Sprint(v...)) }
func (quiet) Fatalf(f string, v ...any) { panic("raft: " + fmt.Sprintf(f, v...)) }
func (quiet) Panic(v ...any)            { panic("raft: " + fmt.Sprint(v...)) }
func (quiet) Panicf(f string, v ...any) { panic("raft: " + fmt.Sprintf(f, v...)) }
