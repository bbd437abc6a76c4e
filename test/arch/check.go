package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Source is one Go file of a package of a tree.
type Source struct {
	Package string // folder below the tree's: record; "." is the tree's own
	Name    string // file name
	Text    string
}

// bannedImports are what a pure package may not import; a trailing slash bans what is below.
var bannedImports = []string{
	"context", "crypto/rand", "database/", "io/ioutil", "log", "log/", "math/rand", "math/rand/v2", "net", "net/http", "net/http/", "net/rpc",
	"os", "os/", "plugin", "runtime", "runtime/", "sync", "sync/", "syscall", "testing", "unsafe",
	"golang.org/x/sys/", "golang.org/x/sync/", "github.com/go-logr/", "github.com/prometheus/", "github.com/twmb/franz-go/pkg/kgo",
	"github.com/twmb/franz-go/pkg/kadm", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/controller-runtime/",
}

// clocks are the names of package time that read a clock or wait.
var clocks = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true, "NewTimer": true, "NewTicker": true}

// Check lists what the files of a tree break, in the order of the files. Test files are not the caller's to give.
func Check(tree Tree, sources []Source) ([]string, error) {
	c := checker{tree: tree, set: token.NewFileSet(), globals: map[string]map[string]bool{}, documented: map[string]bool{}}
	var files []*ast.File
	for _, s := range sources {
		f, err := parser.ParseFile(c.set, s.Package+"/"+s.Name, s.Text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		c.collect(s.Package, f)
	}
	for i, s := range sources {
		c.file(s, files[i])
	}
	seen := map[string]bool{}
	for _, s := range sources {
		if seen[s.Package] {
			continue
		}
		seen[s.Package] = true
		if _, known := tree.Floors[s.Package]; !known {
			c.report("%s/%s is not in the table of floors", tree.Dir, s.Package)
		}
		if !c.documented[s.Package] {
			c.report("%s/%s has no package comment", tree.Dir, s.Package)
		}
	}
	return c.broken, nil
}

type checker struct {
	tree       Tree
	set        *token.FileSet
	globals    map[string]map[string]bool // package -> its package-level variables
	documented map[string]bool
	broken     []string
}

func (c *checker) report(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

func (c *checker) at(pos token.Pos) string {
	p := c.set.Position(pos)
	return fmt.Sprintf("%s/%s:%d", c.tree.Dir, p.Filename, p.Line)
}

func (c *checker) collect(pkg string, f *ast.File) {
	if f.Doc != nil {
		c.documented[pkg] = true
	}
	if c.globals[pkg] == nil {
		c.globals[pkg] = map[string]bool{}
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				c.globals[pkg][name.Name] = name.Name != "_"
			}
		}
	}
}

func (c *checker) file(s Source, f *ast.File) {
	floor, known := c.tree.Floors[s.Package]
	if !known {
		return
	}
	loop := floor.Kind == Core && strings.HasPrefix(s.Name, "run")
	names := map[string]string{} // local name -> import path
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(p)
		if name == "v2" || name == "v3" || name == "v4" {
			name = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
		c.imported(s.Package, floor, loop, p, spec.Pos())
	}
	ast.Inspect(f, func(n ast.Node) bool {
		c.node(s.Package, floor, loop, names, f, n)
		return true
	})
}

func (c *checker) imported(pkg string, floor Floor, loop bool, p string, pos token.Pos) {
	if rest, ours := strings.CutPrefix(p, Module+"/"); ours {
		if slices.Contains(c.tree.MayImport, rest) {
			return
		}
		to, below := strings.CutPrefix(rest, c.tree.Dir+"/")
		target, known := c.tree.Floors[to]
		switch {
		case !below || !known:
			c.report("%s: a package below %s/ imports %s", c.at(pos), c.tree.Dir, rest)
		case target.Level >= floor.Level:
			c.report("%s: %s (floor %d) imports %s (floor %d): only lower floors may be imported", c.at(pos), pkg, floor.Level, to, target.Level)
		}
		return
	}
	if !c.tree.Kubernetes && (strings.HasPrefix(p, "k8s.io/") || strings.HasPrefix(p, "sigs.k8s.io/")) {
		c.report("%s: a package below %s/ imports %s", c.at(pos), c.tree.Dir, p)
		return
	}
	if floor.Kind == Pure && banned(p) && !excepted(pkg, p, "") {
		c.report("%s: %s is pure and imports %s", c.at(pos), pkg, p)
	}
	if floor.Kind == IO && banned(p) && p != "os" && p != "sync" && p != "sync/atomic" && !excepted(pkg, p, "") {
		c.report("%s: %s touches files only and imports %s", c.at(pos), pkg, p)
	}
	if floor.Kind == Core && !loop && (p == "crypto/rand" || p == "net" || p == "math/rand" || p == "math/rand/v2") && pkg != "sim" {
		c.report("%s: %s imports %s outside run*.go", c.at(pos), pkg, p)
	}
}

func banned(p string) bool {
	for _, b := range bannedImports {
		if p == b || strings.HasSuffix(b, "/") && strings.HasPrefix(p, b) {
			return true
		}
	}
	return false
}

// excepted tells whether the package may import p, or with a name, use p.name.
func excepted(pkg, p, name string) bool {
	for _, e := range Exceptions {
		if e.In == pkg && e.Package == p && (name == "" || e.Name == "" || e.Name == name) {
			return true
		}
	}
	return false
}

func (c *checker) node(pkg string, floor Floor, loop bool, names map[string]string, f *ast.File, n ast.Node) {
	switch n := n.(type) {
	case *ast.GoStmt:
		if floor.Kind != Shell && !loop {
			c.report("%s: %s starts a goroutine", c.at(n.Pos()), pkg)
		}
	case *ast.SelectorExpr:
		if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil {
			c.selected(pkg, floor, loop, names[id.Name], n.Sel.Name, n.Pos())
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				c.assigned(pkg, floor, f, e)
			}
		}
	case *ast.IncDecStmt:
		c.assigned(pkg, floor, f, n.X)
	}
}

func (c *checker) selected(pkg string, floor Floor, loop bool, p, name string, pos token.Pos) {
	switch {
	case p == "time" && clocks[name] && floor.Kind != Shell && !loop:
		c.report("%s: %s reads a clock or waits: time.%s", c.at(pos), pkg, name)
	case p == "os" && floor.Kind == IO && !strings.HasPrefix(name, "O_") && !strings.HasPrefix(name, "Err") && !excepted(pkg, p, name):
		c.report("%s: %s uses os.%s beside package vfs", c.at(pos), pkg, name)
	case floor.Kind == Pure && p != "" && banned(p) && !excepted(pkg, p, name) && excepted(pkg, p, ""):
		c.report("%s: %s may not use %s.%s", c.at(pos), pkg, p, name)
	}
}

// assigned reports a change of a package-level variable by a pure package.
func (c *checker) assigned(pkg string, floor Floor, f *ast.File, e ast.Expr) {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			local := x.Obj != nil && f.Scope.Objects[x.Name] != x.Obj
			if floor.Kind == Pure && !local && c.globals[pkg][x.Name] {
				c.report("%s: %s is pure and changes its variable %s", c.at(x.Pos()), pkg, x.Name)
			}
			return
		default:
			return
		}
	}
}
