package server

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// formatted is a directory that begins a cluster of one broker with these settings, and the image that its quorum begins with.
func formatted(t *testing.T, given config.Values) (vfs.FS, FormatOptions, *metadata.Image) {
	t.Helper()
	fs := vfs.NewMem(1)
	self := quorum.Voter{Node: 0, Directory: kafka.DirectoryID{1}}
	o := FormatOptions{ClusterID: "c", Directory: self.Directory, Voters: []quorum.Voter{self}, Settings: given}
	if err := Format(fs, config.Broker{LogDir: "data"}, o); err != nil {
		t.Fatal(err)
	}
	var image *metadata.Image
	n, err := quorum.Open(quorum.Options{
		FS: fs, Dir: filepath.Join("data", quorumDir), Self: self, ClusterID: "c",
		Machine: quorum.NewMetadataMachine(quorum.MetadataOptions{
			Controller: metactl.New(metactl.Options{}, nil), Wall: func() kafka.Timestamp { return 0 }, Rand: rand.NewPCG(1, 1),
			OnImage: func(i *metadata.Image, _ metadata.Delta) { image = i },
		}),
		Send: func(kafka.NodeID, quorum.Message) {}, Jitter: func(int64) int64 { return 0 },
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return fs, o, image
}

func TestTheFilesMinISRBecomesTheClustersWhenItBegins(t *testing.T) {
	_, _, image := formatted(t, config.Values{"min.insync.replicas": "2", "log.retention.ms": "1000"})
	if got := image.MinISR("t", 3); got != 2 {
		t.Errorf("the cluster begins with min.insync.replicas %d, want the file's 2", got)
	}
	if got := image.Config(metadata.DefaultBrokerConfig).Values(); len(got) != 1 {
		t.Errorf("settings of all brokers: %v, want min.insync.replicas alone", got)
	}
	_, _, image = formatted(t, nil)
	if got := image.Config(metadata.DefaultBrokerConfig).Values(); image.MinISR("t", 3) != 1 || len(got) != 0 {
		t.Errorf("without it: %v", got)
	}
}

func TestADirectoryIsFormattedOnce(t *testing.T) {
	fs, o, _ := formatted(t, nil)
	o.Directory = kafka.DirectoryID{2}
	if err := Format(fs, config.Broker{LogDir: "data"}, o); !errors.Is(err, ErrFormatted) {
		t.Errorf("second format: %v", err)
	}
}

func TestTheFilesMinISRIsNotDescribedWhenItHasNoEffect(t *testing.T) {
	file := config.Values{"min.insync.replicas": "3", "node.id": "1"}
	s := newSettings(file, config.Broker{NodeID: 1})
	_, _, image := formatted(t, config.Values{"min.insync.replicas": "2"})
	if err := s.follow(image); err != nil {
		t.Fatal(err)
	}
	for _, e := range config.DescribeTopic(s.layers()) {
		if e.Name == "min.insync.replicas" && (*e.Value != "2" || e.Source != config.SourceBrokerDefault) {
			t.Errorf("described as %s from source %d, want the cluster's 2 of all brokers", *e.Value, e.Source)
		}
	}
	if file, cluster, ignored := s.ignoredMinISR(image); !ignored || file != "3" || cluster != "2" {
		t.Errorf("ignored: %s, %s, %v", file, cluster, ignored)
	}
	if file["min.insync.replicas"] != "3" {
		t.Error("the caller's settings were changed")
	}
}
