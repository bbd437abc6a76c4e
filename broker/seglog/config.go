package seglog

import (
	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
)

// Config is what a topic's settings say to its logs.
type Config = config.Topic

// Options are what a log needs to open.
type Options struct {
	Config        Config
	TopicID       kafka.TopicID // zero: not known. A folder that says another topic is refused
	LogStart      kafka.Offset  // from log-start-offset-checkpoint; what the log's own journal says goes before
	RecoveryPoint kafka.Offset  // from recovery-point-offset-checkpoint, 0 when there is none
	Clean         bool          // the directory was stopped cleanly
	Now           kafka.Timestamp
	Files         *FilePool  // shared by the logs of a broker; nil: one of its own
	Directory     *Directory // goes offline with the log; may be nil
	Producers     producerstate.Options
	// Progress is told of bytes as recovery reads them, from the goroutine that opens the log, and not any more when the log is open. May be nil.
	Progress func(bytes int)
}

// RecoveryReport says what opening a log found and did. Facts, for logs and metrics at the edge.
type RecoveryReport struct {
	Created         bool  // the log was not there
	Scanned         bool  // batches were checked: the stop was unclean, or a seal is missing
	ScannedBytes    int64 // of batches whose checksum was checked
	TruncatedBytes  int64 // of segments that were cut
	DeletedSegments int   // behind the cut
	Cut             error // why the log was cut, nil if it was not
	RebuiltIndexes  int   // segments whose indexes were made anew during the open
	RebuiltEpochs   bool  // leader-epoch-checkpoint was missing or damaged
	BadSnapshots    int   // producer snapshots that were damaged
	ReplayedFrom    kafka.Offset
	JournalDamaged  bool
}
