package cluster

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// podKind says what a pod's state means for a plan.
type podKind int8

const (
	missing  podKind = iota // there is no pod
	starting                // it is on its way, nothing is wrong
	running                 // the broker's process runs
	stuck                   // the process does not run, and will not without a change
	crashed                 // the process ended, and is started again after a while
	going                   // the pod is being deleted
	lost                    // its node does not answer: whether the process runs is not known
)

// podState is what Kubernetes says of a broker's pod.
type podState struct {
	kind podKind
	// failing means that people are needed: set with stuck and crashed, and with running for a process that has ended before it was ready, again
	// and again, and is at it once more.
	failing       bool
	name, message string // for status.brokers
}

// down tells whether the process does not run, for certain.
func (s podState) down() bool { return s.kind == starting || s.kind == stuck || s.kind == crashed }

// crashWindow is how long a process that has crashed before must run until it counts as running: as long as the kubelet remembers.
const crashWindow = 10 * time.Minute

func stateOf(p *corev1.Pod, node fact.Fact[*corev1.Node], now time.Time) podState {
	if p == nil {
		return podState{kind: missing, name: "Missing", message: "there is no pod"}
	}
	if why := nodeLost(p, node); why != "" && !podReady(p) {
		return podState{kind: lost, name: "NodeLost", message: why}
	}
	switch {
	case p.DeletionTimestamp != nil:
		return podState{kind: going, name: "Terminating", message: "the pod is being deleted"}
	case p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded:
		name := string(p.Status.Phase)
		if p.Status.Reason != "" {
			name = p.Status.Reason
		}
		return podState{kind: crashed, failing: true, name: name, message: "the pod has ended, and is made again: " + p.Status.Message}
	}
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.Name == desired.Container {
			return containerState(c, podReady(p), now)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return podState{kind: stuck, failing: true, name: unschedulable, message: c.Message}
		}
	}
	return podState{kind: starting, name: "Pending", message: "the pod is on its way"}
}

// nodeLost tells why the node is not there; it is empty if nothing is known against it.
func nodeLost(p *corev1.Pod, node fact.Fact[*corev1.Node]) string {
	n, known := node.Get()
	if !known || p.Spec.NodeName == "" {
		return ""
	}
	if n == nil {
		return "node " + p.Spec.NodeName + " is gone"
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return fmt.Sprintf("node %s is not ready since %s: %s", n.Name, c.LastTransitionTime.UTC().Format(time.RFC3339), strings.TrimSuffix(c.Message, "."))
		}
	}
	return ""
}

func containerState(c *corev1.ContainerStatus, ready bool, now time.Time) podState {
	switch {
	case c.State.Waiting != nil:
		return waitingState(c)
	case c.State.Terminated != nil:
		return podState{kind: crashed, failing: true, name: endName(c.State.Terminated), message: ended(c.State.Terminated)}
	case c.State.Running != nil:
		last := c.LastTerminationState.Terminated
		again := !ready && c.RestartCount > 1 && last != nil && last.ExitCode != 0 && now.Sub(c.State.Running.StartedAt.Time) < crashWindow
		if again {
			return podState{kind: running, failing: true, name: crashLoop, message: ended(last)}
		}
		return podState{kind: running, name: "Running"}
	}
	return podState{kind: starting, name: "Pending", message: "the pod is on its way"}
}

const (
	crashLoop     = "CrashLoopBackOff"
	imagePull     = "ImagePullBackOff"
	unschedulable = "Unschedulable"
)

func waitingState(c *corev1.ContainerStatus) podState {
	w := c.State.Waiting
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		name := w.Reason
		if name == "" {
			name = "Pending"
		}
		return podState{kind: starting, name: name, message: "the container is being made"}
	case crashLoop:
		s := podState{kind: crashed, failing: true, name: crashLoop, message: w.Message}
		if last := c.LastTerminationState.Terminated; last != nil {
			s.message = ended(last)
		}
		return s
	case "ErrImagePull", imagePull:
		// The kubelet goes from one to the other and back: here they are one.
		detail := w.Message
		if _, after, ok := strings.Cut(detail, "ErrImagePull: "); ok {
			detail = after
		}
		if _, after, ok := strings.Cut(detail, " desc = "); ok { // the kubelet's way to the container runtime says nothing about the image
			detail = after
		}
		return podState{kind: stuck, failing: true, name: imagePull, message: "image " + c.Image + " cannot be pulled: " + detail}
	}
	return podState{kind: stuck, failing: true, name: w.Reason, message: w.Message}
}

// endName is why the process ended, in a word.
func endName(t *corev1.ContainerStateTerminated) string {
	if t.Reason == "" {
		return "Error"
	}
	return t.Reason
}

// maxLastWord bounds what of a process's last word is shown, in bytes: the kubelet keeps more than fits into a line.
const maxLastWord = 512

// ended says how the process ended: its own last word first.
func ended(t *corev1.ContainerStateTerminated) string {
	s := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		s = t.Reason + ", " + s
	}
	if word := lastLines(t.Message); word != "" {
		s += ": " + word
	}
	return s
}

// lastLines is the end of a text in one line.
func lastLines(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxLastWord {
		s = "..." + strings.ToValidUTF8(s[len(s)-maxLastWord:], "")
	}
	return s
}
