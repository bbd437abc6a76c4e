package seglog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

func TestDirectory(t *testing.T) {
	fs := vfs.NewMem(1)
	d := must2(OpenDirectory(fs, "data"))
	if _, err := OpenDirectory(fs, "data"); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a second broker: %v", err)
	}
	if _, ok := d.Meta(); ok {
		t.Error("an empty directory has an identity")
	}
	m := MetaProperties{ClusterID: "cluster", NodeID: 3, DirectoryID: kafka.DirectoryID{1}}
	must(t, d.Format(m))
	if err := d.Format(m); err == nil {
		t.Error("formatted twice")
	}
	tp := kafka.TopicPartition{Topic: "a-b", Partition: 7}
	must(t, d.WriteCheckpoint(HighWatermarks, map[kafka.TopicPartition]kafka.Offset{tp: 12, {Topic: "a", Partition: 1}: 5}))
	text := string(must2(vfs.ReadFile(fs, "data/replication-offset-checkpoint", 1000)))
	if text != "0\n2\na 1 5\na-b 7 12\n" {
		t.Errorf("checkpoint %q", text)
	}
	if _, clean := d.CleanShutdown(); clean {
		t.Error("a new directory was stopped cleanly")
	}
	must(t, d.MarkCleanShutdown(42))
	if text := string(must2(vfs.ReadFile(fs, "data/.kafka_cleanshutdown", 1000))); text != `{"version":0,"brokerEpoch":42}` {
		t.Errorf("clean shutdown file %q", text)
	}
	must(t, d.Close())

	d = must2(OpenDirectory(fs, "data"))
	if got, ok := d.Meta(); !ok || got != m {
		t.Errorf("identity %+v", got)
	}
	if e, clean := d.CleanShutdown(); !clean || e != 42 {
		t.Errorf("clean %v in epoch %d", clean, e)
	}
	must(t, d.ForgetCleanShutdown())
	must(t, d.ForgetCleanShutdown())
	fs.Crash()
	d = must2(OpenDirectory(fs, "data"))
	if _, clean := d.CleanShutdown(); clean {
		t.Error("the sign of a clean stop outlived the start that used it")
	}
	if got := must2(d.ReadCheckpoint(HighWatermarks)); got[tp] != 12 || len(got) != 2 {
		t.Errorf("checkpoint %v", got)
	}
	if got, err := d.ReadCheckpoint(LogStarts); err != nil || len(got) != 0 {
		t.Errorf("missing checkpoint %v %v", got, err)
	}
	f := must2(fs.OpenFile("data/replication-offset-checkpoint", os.O_RDWR))
	f.WriteAt([]byte("x"), 2)
	if _, err := d.ReadCheckpoint(HighWatermarks); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged checkpoint: %v", err)
	}
	fs.SetQuota(fs.Used() + 1000)
	if s, err := d.Space(); s.Free != 1000 || s.Total != fs.Used()+1000 || err != nil {
		t.Errorf("space %+v %v, want 1000 free", s, err)
	}
}

func TestPartitionFolders(t *testing.T) {
	fs := vfs.NewMem(1)
	d := must2(OpenDirectory(fs, "data"))
	l, _ := mustOpen(t, fs, Options{})
	must(t, l.Close())
	unique := strings.Repeat("0123", 8)
	for _, name := range []string{"a.b-c-10", DirName(kafka.TopicPartition{Topic: "gone", Partition: 2}, DirDelete, unique), "nothing", "x-1a", "y-01"} {
		must(t, fs.MkdirAll("data/"+name))
	}
	var out strings.Builder
	for _, p := range must2(d.Partitions(nil)) {
		fmt.Fprintf(&out, "%s %d %q %v\n", p.Topic, p.Partition, p.Kind, p.TopicID == topic)
	}
	if want := "a.b-c 10 \"\" false\ngone 2 \"delete\" false\nt 0 \"\" true\n"; out.String() != want {
		t.Errorf("folders\n%swant\n%s", out.String(), want)
	}
	must(t, d.RenamePartition("t-0", DirName(kafka.TopicPartition{Topic: "t", Partition: 0}, DirStray, unique)))
	must(t, d.RemovePartition("a.b-c-10"))
	if got := len(must2(d.Partitions(nil))); got != 2 {
		t.Errorf("%d folders are left", got)
	}
	if n := len(DirName(kafka.TopicPartition{Topic: strings.Repeat("t", 249), Partition: 1 << 30}, DirFuture, unique)); n != 255 {
		t.Errorf("name of %d bytes", n)
	}
}

func TestMetaOfKafka(t *testing.T) {
	got, err := parseMeta("#\n#Sat Nov 28 10:00:00 UTC 2026\nnode.id=1\ndirectory.id=AQAAAAAAAAAAAAAAAAAAAA\nversion=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n")
	if err != nil || got.NodeID != 1 || got.ClusterID != "4L6g3nShT-eMCtK--X86sw" || got.DirectoryID != (kafka.DirectoryID{1}) {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []string{"", "node.id=x\ncluster.id=c\n", "node.id=1\n", "nonsense", "node.id=1\ncluster.id=c\ndirectory.id=short\n"} {
		if _, err := parseMeta(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
