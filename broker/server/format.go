package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/raftlog"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// quorumDir is the folder of the metadata quorum's files in the data directory.
const quorumDir = "__fairlead_quorum"

// FormatOptions is the explicit act that makes a data directory. Without voters the directory is that of a broker that joins a
// cluster; with voters, of which this broker is one, it begins the cluster's one quorum.
type FormatOptions struct {
	ClusterID string
	Directory kafka.DirectoryID // zero: a new one
	Voters    []quorum.Voter
	// Settings are the file of the brokers that begin a cluster, the same for all of them. Of these, [metadata.MinISRSetting] becomes a
	// setting of the cluster, where it is altered from then on: a broker's own file does not count for it.
	Settings config.Values
}

// defaults are the settings that a new cluster begins with.
func (o FormatOptions) defaults() []metadata.Setting {
	if v, ok := o.Settings[metadata.MinISRSetting]; ok {
		return []metadata.Setting{{Name: metadata.MinISRSetting, Value: v}}
	}
	return nil
}

// ErrFormatted means that the directory has an identity already.
var ErrFormatted = errors.New("data directory is formatted already")

// Format gives an empty data directory its identity, once. A directory that has one is left as it is: ErrFormatted.
func Format(fs vfs.FS, b config.Broker, o FormatOptions) error {
	var dir *seglog.Directory
	err := retryWhile(vfs.ErrLocked, func() (err error) {
		dir, err = seglog.OpenDirectory(fs, b.LogDir)
		return err
	})
	if err != nil {
		return fmt.Errorf("format: %w", err)
	}
	defer dir.Close()
	if m, ok := dir.Meta(); ok {
		return fmt.Errorf("format %s: %w: node %d of cluster %s", b.LogDir, ErrFormatted, m.NodeID, m.ClusterID)
	}
	if o.Directory.IsZero() {
		o.Directory = NewDirectoryID()
	}
	if len(o.Voters) > 0 {
		self := quorum.Voter{Node: b.NodeID, Directory: o.Directory}
		founding := quorum.Founding{ClusterID: o.ClusterID, Voters: o.Voters, State: metactl.Genesis(o.ClusterID, o.defaults()...)}
		// Before the identity: a crash between the two leaves a directory that can be formatted again with the same ids.
		err := quorum.Bootstrap(fs, filepath.Join(b.LogDir, quorumDir), self, founding)
		if errors.Is(err, quorum.ErrBootstrapped) {
			err = sameQuorum(fs, b, self, o.ClusterID)
		}
		if err != nil {
			return fmt.Errorf("format %s: %w", b.LogDir, err)
		}
	}
	if err := dir.Format(seglog.MetaProperties{ClusterID: o.ClusterID, NodeID: b.NodeID, DirectoryID: o.Directory}); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	return nil
}

// sameQuorum checks that the quorum's files are those of this very cluster: they are the rest of a format that did not come to its end.
func sameQuorum(fs vfs.FS, b config.Broker, self quorum.Voter, clusterID string) error {
	log, err := raftlog.Open(fs, filepath.Join(b.LogDir, quorumDir), raftlog.Options{
		Identity: raftlog.Identity{Node: self.Node, Directory: self.Directory, ClusterID: clusterID},
	})
	if err != nil {
		return err
	}
	return log.Close()
}

// NewDirectoryID is a random directory id. Kafka reserves those whose text begins with a dash.
func NewDirectoryID() kafka.DirectoryID { return kafka.DirectoryID(NewUUID()) }

// NewUUID is a random identifier whose text does not begin with a dash.
func NewUUID() kafka.UUID {
	for {
		var u kafka.UUID
		_, _ = rand.Read(u[:]) // never fails
		if u.String()[0] != '-' {
			return u
		}
	}
}
