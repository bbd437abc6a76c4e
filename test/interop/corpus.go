package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// corpusBytes is the least size of the text that goes through kcat.
const corpusBytes = 100 << 20

// maxLine keeps a line, its number and its headers below the default message.max.bytes.
const maxLine = 500_000

// corpus is a text file of numbered lines: NUMBER, tab, text. The number shows order; sums tell the text.
type corpus struct {
	file string
	size int64
	sums []uint64 // of each line, by number
	seed maphash.Seed
}

// writeCorpus numbers the lines of the source that are not empty; source "" is Go's own source tree.
func writeCorpus(file, source string) (*corpus, error) {
	c := &corpus{file: file, seed: maphash.MakeSeed()}
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	if source != "" {
		err = c.add(w, source)
	} else {
		err = c.addTrees(w)
	}
	if err != nil {
		return nil, err
	}
	if c.size < corpusBytes {
		return nil, fmt.Errorf("%d bytes of text, want at least %d", c.size, corpusBytes)
	}
	return c, w.Flush()
}

// addTrees takes text of the Go distribution, as often as it needs to reach the size.
func (c *corpus) addTrees(w io.Writer) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find Go's sources: %w", err)
	}
	for before := int64(-1); c.size < corpusBytes && c.size > before; {
		before = c.size
		err := filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || c.size >= corpusBytes {
				return err
			}
			return c.add(w, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *corpus) add(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 || len(line) > maxLine {
			continue
		}
		n, err := fmt.Fprintf(w, "%d\t%s\n", len(c.sums), line)
		if err != nil {
			return err
		}
		c.sums = append(c.sums, maphash.Bytes(c.seed, line))
		c.size += int64(n)
	}
	return lines.Err()
}

// checker looks at lines as they come back: PARTITION, space, OFFSET, space, NUMBER, tab, text.
type checker struct {
	corpus *corpus
	seen   []bool
	last   map[int]int   // highest number so far, by partition
	next   map[int]int64 // offset that must come next, by partition
	broken []string
	count  int
}

func newChecker(c *corpus) *checker {
	return &checker{corpus: c, seen: make([]bool, len(c.sums)), last: map[int]int{}, next: map[int]int64{}}
}

func (k *checker) breaks(format string, args ...any) {
	if len(k.broken) < 20 {
		k.broken = append(k.broken, fmt.Sprintf(format, args...))
	}
}

func (k *checker) line(b []byte) {
	var partition, number int
	var offset int64
	head, text, ok := bytes.Cut(b, []byte("\t"))
	if n, err := fmt.Sscanf(string(head), "%d %d %d", &partition, &offset, &number); n != 3 || err != nil || !ok {
		k.breaks("a line that nobody sent: %.80q", b)
		return
	}
	if number < 0 || number >= len(k.seen) || maphash.Bytes(k.corpus.seed, text) != k.corpus.sums[number] {
		k.breaks("line %d came back changed: %.80q", number, text)
		return
	}
	if k.seen[number] {
		k.breaks("line %d came back twice", number)
	}
	k.seen[number] = true
	if before, there := k.last[partition]; there && before >= number {
		k.breaks("partition %d: line %d came after line %d", partition, number, before)
	}
	k.last[partition] = number
	if offset != k.next[partition] {
		k.breaks("partition %d: offset %d, want %d", partition, offset, k.next[partition])
	}
	k.next[partition] = offset + 1
	k.count++
}

// finish adds what never came back.
func (k *checker) finish() []string {
	missing, first := 0, -1
	for number, seen := range k.seen {
		if !seen {
			missing++
			if first < 0 {
				first = number
			}
		}
	}
	if missing > 0 {
		k.breaks("%d of %d lines did not come back, the first is %d", missing, len(k.seen), first)
	}
	return k.broken
}
