package pod

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/fairlead-io/fairlead/broker/server"
	"github.com/fairlead-io/fairlead/cmd/fairlead/brokerfile"
)

// maxLastWord is what the kubelet keeps of a termination message.
const maxLastWord = 4096

// lastWord is the reason of a container's end in one line, the kind of it first.
func lastWord(err error) string {
	kind := ""
	switch {
	case errors.As(err, new(*brokerfile.Error)):
		kind = "bad broker config: "
	case errors.As(err, new(*server.ForeignDirectoryError)):
		kind = "data directory of another cluster: "
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		kind = "disk full: "
	}
	text := kind + strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
	return strings.ToValidUTF8(text[:min(len(text), maxLastWord-1)], "") + "\n"
}

// leaveWord writes the reason where the kubelet looks for it. The file is the kubelet's: outside Kubernetes there is none, and none is made.
func (p *pod) leaveWord(err error) {
	f, openErr := os.OpenFile(p.TerminationLog, os.O_WRONLY|os.O_TRUNC, 0)
	if openErr != nil {
		p.Log.V(1).Info("no termination log", "reason", openErr.Error())
		return
	}
	_, writeErr := f.WriteString(lastWord(err))
	if writeErr = errors.Join(writeErr, f.Close()); writeErr != nil {
		p.Log.Error(writeErr, "termination log could not be written")
	}
}
