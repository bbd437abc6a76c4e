package arch

// Kind is what the code of a package may do.
type Kind int

// The kinds, each allowing more than the one before.
const (
	Pure  Kind = iota // computes; no goroutine, lock, clock, randomness, file, socket, logger, context, changing global
	IO                // touches files through package vfs; starts nothing
	Core              // a synchronous core that the simulation drives; goroutines and clocks only in files named run*.go
	Shell             // owns goroutines, timers and sockets
)

// Floor is a package's place: it may import lower floors only.
type Floor struct {
	Level int
	Kind  Kind
}

// Module is the import path of the repository.
const Module = "github.com/fairlead-io/fairlead"

// Tree is a folder whose packages lie on floors.
type Tree struct {
	Dir        string
	Floors     map[string]Floor // by folder below Dir, "." for its own package; a package that is not here may not exist
	MayImport  []string         // what its packages may import of the repository beside it
	Kubernetes bool             // may import Kubernetes' modules
}

// Broker is the broker's tree.
var Broker = Tree{Dir: "broker", Floors: map[string]Floor{
	"kafka": {0, Pure},

	"record":   {1, Pure},
	"wire":     {1, Pure},
	"config":   {1, Pure},
	"adminapi": {1, Pure},

	"metadata":      {2, Pure},
	"balance":       {2, Pure},
	"producerstate": {2, Pure},
	"leaderepoch":   {2, Pure},
	"fetchsession":  {2, Pure},

	"metactl":    {3, Pure},
	"replica":    {3, Pure},
	"group":      {3, Pure},
	"membership": {3, Pure},

	"vfs": {4, IO},

	"seglog":  {5, IO},
	"raftlog": {5, IO},
	"peer":    {5, Shell},

	"quorum":      {6, Core},
	"partition":   {6, Core},
	"replication": {6, Core},
	"coordinator": {6, Core},
	"conn":        {6, Shell},

	"handler": {7, Shell},
	"server":  {8, Shell},
	"sim":     {9, Core},
}}

// Controllers is the operator's tree. Of the broker it knows the pure vocabulary alone.
var Controllers = Tree{Dir: "controllers", Kubernetes: true,
	MayImport: []string{"api/v1alpha1", "broker/kafka", "broker/config", "broker/adminapi", "broker/balance"},
	Floors: map[string]Floor{
		"fact": {0, Pure},

		"conditions": {1, Pure},

		"desired": {2, Pure},

		"plan/cluster": {3, Pure},
		"plan/topic":   {3, Pure},

		"brokerclient": {4, Shell},

		"catalogue": {5, Shell},
		"observe":   {5, Shell},
		"apply":     {5, Shell},

		".": {6, Shell},
	},
}

// An Exception allows one name of one package to one package of ours, for a reason.
type Exception struct{ In, Package, Name, Why string }

// Exceptions are the places where a rule and clarity disagreed.
var Exceptions = []Exception{
	{"record", "sync", "Pool", "compressors keep large tables; the pool is a cache without state that a caller could see"},
	{"vfs", "sync", "", "the in-memory file system may be used by several goroutines, as the real one"},
	{"vfs", "os", "", "the real file system is here"},
	{"vfs", "math/rand/v2", "", "the in-memory file system draws what a crash keeps, from the seed it is given"},
	{"vfs", "golang.org/x/sys/unix", "", "free space and locks of the real file system"},
	{"vfs", "syscall", "", "error numbers and locks of the real file system"},
}
