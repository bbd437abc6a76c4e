package topic

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

func TestATopicThatDoesNotExistIsCreated(t *testing.T) {
	expect(t, "with the cluster's defaults", world(), `
create t, partitions -1, replicas -1
Ready=False Creating: the topic is being created
again in 1s
`)
	expect(t, "as the spec says", world(partitions(6), replicas(2), configured("retention.ms=5", "cleanup.policy=compact")), `
create t, partitions 6, replicas 2, cleanup.policy=compact, retention.ms=5
Ready=False Creating: the topic is being created
again in 1s
`)
	s := world()
	s.Topic.Status = Compute(s).Status
	s.Last.Created = true
	found(exists(1, 1))(&s)
	p := expect(t, "what is found then is the Topic's own", s, `
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 45s
`)
	if p.Status.TopicID != idA.String() || p.Status.Partitions != 1 || p.Status.ReplicationFactor != 1 || p.Status.TopicName != "t" || p.Status.ObservedGeneration != 1 {
		t.Errorf("%+v", p.Status)
	}
}

func TestATopicThatWasJustCreatedIsAwaited(t *testing.T) {
	s := world()
	s.Last.Created, s.Last.Unsettled = true, 3
	expect(t, "a broker may be behind", s, `
Ready=False Creating: the topic is being created
again in 8s
`)
	s.Last.Unsettled = notSeen
	expect(t, "but not for ever", s, `
create t, partitions -1, replicas -1
Ready=False Creating: the topic is being created
again in 30s
`)
}

func TestC41NamesThatAreNotKubernetesNames(t *testing.T) {
	named := func(name string) Snapshot {
		return world(func(s *Snapshot) { s.Topic.Spec.TopicName = name })
	}
	for _, name := range []string{"my_topic", "Orders.V2", "_schemas", strings.Repeat("a", 249)} {
		p := Compute(named(name))
		if len(p.Actions) != 1 || p.Actions[0].(Create).Topic != name || p.Status.TopicName != name {
			t.Errorf("%s: %s", name, show(p))
		}
	}
	for _, name := range []string{"a b", ".", "..", strings.Repeat("a", 250)} {
		expect(t, name, named(name), `
Ready=False NameInvalid: a topic's name is 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', and neither '.' nor '..': make another Topic, with spec.topicName
again in 45s
`)
	}
	long := world(func(s *Snapshot) { s.Topic.Name = strings.Repeat("a", 253) })
	if p := Compute(long); len(p.Actions) != 0 || readyOf(p).Reason != string(conditions.NameInvalid) {
		t.Errorf("a name of 253 letters that no topicName replaces: %s", show(p))
	}
	short := world(func(s *Snapshot) { s.Topic.Name = "my-topic" })
	if p := Compute(short); p.Actions[0].(Create).Topic != "my-topic" {
		t.Errorf("without topicName the object's name is the topic's: %s", show(p))
	}
}

func TestC41TopicsOfTheBrokersAreRefused(t *testing.T) {
	expect(t, "known by name", world(func(s *Snapshot) { s.Topic.Spec.TopicName = "__consumer_offsets" }), `
Ready=False InternalTopic: __consumer_offsets is the brokers' own: no Topic describes it
again in 45s
`)
	f := exists(1, 1)
	f.Internal = true
	expect(t, "known by the brokers' word", world(found(f)), `
Ready=False InternalTopic: t is the brokers' own: no Topic describes it
again in 45s
`)
}

func TestC41OfTwoTopicsForOneTheOlderIsFollowed(t *testing.T) {
	rival := func(name string, after time.Duration) v1alpha1.Topic {
		o := *world().Topic.DeepCopy()
		o.Name, o.CreationTimestamp = name, metav1.NewTime(start.Add(after))
		return o
	}
	with := func(rivals ...v1alpha1.Topic) Snapshot { return world(func(s *Snapshot) { s.Rivals = rivals }) }
	const lost = `
Ready=False Conflict: Topic older is older and describes topic t of the same cluster: delete one of them
again in 45s
`
	expect(t, "an older one", with(rival("older", -time.Second)), lost)
	expect(t, "the oldest is named", with(rival("young", -time.Second), rival("older", -time.Minute)), lost)
	for what, s := range map[string]Snapshot{
		"a younger one":       with(rival("y", time.Second)),
		"an equal, later one": with(rival("u", 0)),
	} {
		if p := Compute(s); len(p.Actions) != 1 {
			t.Errorf("%s: %s", what, show(p))
		}
	}
	if p := Compute(with(rival("a", 0))); readyOf(p).Reason != string(conditions.Conflict) {
		t.Errorf("of two of the same second the first by name is followed: %s", show(p))
	}
	gone := rival("older", -time.Second)
	now := metav1.NewTime(start)
	gone.DeletionTimestamp = &now
	if p := Compute(with(gone)); len(p.Actions) != 1 {
		t.Errorf("one that is being deleted is none: %s", show(p))
	}
}

func TestATopicThatExistedIsAdopted(t *testing.T) {
	s := world(found(exists(3, 2)), partitions(3), replicas(2))
	p := expect(t, "as it is", s, `
Ready=True Applied: the topic is as the spec says
Adopted=True TopicExisted: the topic existed before this object, which describes it from now on
Replicated=True InSync: every replica is in sync
again in 45s
`)
	s.Topic.Status = p.Status
	if again := Compute(s); text(t, again.Status) != text(t, p.Status) {
		t.Errorf("the condition stays: %s", show(again))
	}
	expect(t, "and brought in line, with what the spec does not name left as it is", world(found(exists(3, 2, "retention.ms=-1")), partitions(4), configured("segment.ms=5")), `
grow t to 4 partitions
alter t, segment.ms=5
Ready=False Applying: the topic is being brought in line with the spec
Adopted=True TopicExisted: the topic existed before this object, which describes it from now on
Replicated=True InSync: every replica is in sync
again in 1s
`)
	expect(t, "or not, when that is impossible", world(found(exists(3, 2)), partitions(2)), `
Ready=False CannotShrink: the topic has 3 partitions and spec.partitions is 2: partitions cannot be taken away; nothing of the spec is applied until it is at least 3
Adopted=True TopicExisted: the topic existed before this object, which describes it from now on
Replicated=True InSync: every replica is in sync
again in 45s
`)
}

func TestSettingsAreBroughtInLine(t *testing.T) {
	for _, r := range []struct {
		what       string
		have, want []string
		actions    string
	}{
		{"none", nil, nil, ""},
		{"the same", []string{"retention.ms=5"}, []string{"retention.ms=5"}, ""},
		{"a new one", nil, []string{"retention.ms=5"}, "alter t, retention.ms=5"},
		{"another value", []string{"retention.ms=5"}, []string{"retention.ms=6"}, "alter t, retention.ms=6"},
		{"one that was taken out", []string{"retention.ms=5", "segment.ms=6"}, []string{"segment.ms=6"}, "alter t, take back retention.ms"},
		{"one of somebody else", []string{"cleanup.policy=compact", "retention.ms=5"}, []string{"retention.ms=5"}, ""},
		{"throttles of a tool for reassignment", []string{"leader.replication.throttled.replicas=*", "follower.replication.throttled.replicas=0:1"}, nil, ""},
		{"a throttle that the spec names", []string{"leader.replication.throttled.replicas=*"}, []string{"leader.replication.throttled.replicas=0:1"},
			"alter t, leader.replication.throttled.replicas=0:1"},
		{"the same in other words", []string{"preallocate=true", "retention.ms=5", "cleanup.policy=compact,delete", "min.cleanable.dirty.ratio=0.5"},
			[]string{"preallocate=TRUE", "retention.ms=05", "cleanup.policy=compact, delete", "min.cleanable.dirty.ratio=0.50"}, ""},
		{"one that nobody knows", []string{"x.y=1"}, []string{"x.y=1"}, ""},
		{"a wrong value", []string{"retention.ms=5"}, []string{"retention.ms=x"}, "alter t, retention.ms=x"},
	} {
		s := world(found(exists(1, 1, r.have...)), configured(r.want...))
		s.Topic.Status.TopicID = idA.String()
		s.Topic.Status.Settings = []string{"retention.ms"}
		var lines []string
		for _, a := range Compute(s).Actions {
			lines = append(lines, a.String())
		}
		if got := strings.Join(lines, "\n"); got != r.actions {
			t.Errorf("%s: %q, want %q", r.what, got, r.actions)
		}
	}
}

// Whose settings are whose over a Topic's life. To take back a retention that a topic had before would delete its records.
func TestWhichSettingsAreTakenBack(t *testing.T) {
	s := world(found(exists(1, 1, "retention.ms=-1", "segment.ms=6")), configured("segment.ms=6"))
	edit := func(settings ...string) {
		configured(settings...)(&s)
		s.Topic.Generation++
	}
	next := func(what, settings string, actions ...string) {
		t.Helper()
		p := Compute(s)
		var lines []string
		for _, a := range p.Actions {
			lines = append(lines, a.String())
		}
		if got := strings.Join(p.Status.Settings, " "); got != settings || !slices.Equal(lines, actions) {
			t.Errorf("%s: settings %q, actions %q", what, got, lines)
		}
		s.Topic.Status = p.Status
	}
	next("adopted: what is as the spec says is the Topic's", "segment.ms")
	edit("segment.ms=6", "retention.ms=x")
	next("a wish that is refused", "segment.ms", "alter t, retention.ms=x")
	edit()
	next("and given up, with one that was carried out", "segment.ms", "alter t, take back segment.ms")
	found(exists(1, 1, "retention.ms=-1"))(&s)
	next("is gone", "")
	edit("retention.ms=5")
	next("named", "", "alter t, retention.ms=5")
	found(exists(1, 1, "retention.ms=5"))(&s)
	next("carried out", "retention.ms")
	again := exists(1, 1, "retention.ms=7", "segment.ms=8")
	again.ID = idB
	found(again)(&s)
	edit()
	next("another topic of the name owes nothing", "", "event TopicReplaced: topic t was deleted and made again by other means: its id was "+idA.String()+" and is "+idB.String())
}

func TestChangesByOtherMeansArePutRightWithAnEvent(t *testing.T) {
	s := settled(found(exists(2, 1, "retention.ms=5")), configured("retention.ms=5"))
	found(exists(2, 1, "retention.ms=7"))(&s)
	expect(t, "settings", s, `
alter t, retention.ms=5
event TopicCorrected: settings of topic t were changed by other means and are put right: retention.ms=5
Ready=False Applying: the topic is being brought in line with the spec
Replicated=True InSync: every replica is in sync
again in 1s
`)

	s = settled(found(exists(2, 1)), partitions(2))
	found(nil)(&s)
	p := expect(t, "a topic that was deleted", s, `
create t, partitions 2, replicas -1
event TopicRecreated: topic t (`+idA.String()+`) was deleted by other means: it is made again, empty
Ready=False Creating: the topic is being created
again in 1s
`)
	s.Topic.Status = p.Status
	again := exists(2, 1)
	again.ID = idB
	found(again)(&s)
	expect(t, "is found again without another word", s, `
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 45s
`)

	s = settled(found(exists(2, 1)), partitions(2))
	found(again)(&s)
	p = expect(t, "a topic that was deleted and made again", s, `
event TopicReplaced: topic t was deleted and made again by other means: its id was `+idA.String()+` and is `+idB.String()+`
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 45s
`)
	if p.Status.TopicID != idB.String() {
		t.Errorf("id %s", p.Status.TopicID)
	}
}

func TestC44WhatIsImpossibleStaysFailedAndNothingOfTheSpecIsApplied(t *testing.T) {
	const lowered = `
Ready=False CannotShrink: the topic has 3 partitions and spec.partitions is 1: partitions cannot be taken away; nothing of the spec is applied until it is at least 3
Replicated=True InSync: every replica is in sync
again in 45s
`
	s := settled(found(exists(3, 1)), partitions(3))
	s.Topic.Generation, s.Topic.Spec.Partitions, s.Topic.Spec.Config = 2, ptr(1), map[string]string{"retention.ms": "5"}
	for range 3 {
		p := expect(t, "fewer partitions", s, lowered)
		if p.Status.ObservedGeneration != 2 || readyOf(p).ObservedGeneration != 2 {
			t.Errorf("of generation %d", p.Status.ObservedGeneration)
		}
		s.Topic.Status, s.Now = p.Status, s.Now.Add(Steady)
	}
	s.Topic.Generation, s.Topic.Spec.Partitions, s.Topic.Spec.Config = 3, ptr(3), nil
	expect(t, "put back", s, `
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 45s
`)

	one := func(s *Snapshot) { s.Brokers = fact.Known([]Broker{{ID: 0}}) }
	s = settled(found(exists(3, 1)), replicas(1), one)
	s.Topic.Generation, s.Topic.Spec.ReplicationFactor, s.Topic.Spec.Partitions = 2, ptr(3), ptr(5)
	expect(t, "more replicas than brokers", s, `
Ready=False NotEnoughBrokers: spec.replicationFactor is 3 and the cluster has 1 broker: nothing of the spec is applied until it has enough, or the number is lower
Replicated=True InSync: every replica is in sync
again in 45s
`)
}

func TestC44WhatBrokersRefuseIsTriedAgainSeldom(t *testing.T) {
	const words = "Invalid value x for configuration min.insync.replicas: Not a number of type INT"
	s := settled(found(exists(3, 1)))
	s.Topic.Generation, s.Last.Generation = 2, 2
	configured("min.insync.replicas=x")(&s)
	partitions(5)(&s)
	if p := Compute(s); len(p.Changes()) != 2 {
		t.Fatalf("both are to be judged before one is done: %s", show(p))
	}
	refused(AlterAction, kafka.InvalidConfig, words)(&s)
	const want = `
Ready=False ConfigInvalid: change settings: INVALID_CONFIG: ` + words + `
Replicated=True InSync: every replica is in sync
`
	p := expect(t, "in Kafka's words", s, want+"again in 30s\n")
	s.Topic.Status, s.Now = p.Status, s.Now.Add(20*time.Second)
	again := expect(t, "woken meanwhile, the brokers are not asked", s, want+"again in 10s\n")
	if text(t, again.Status) != text(t, p.Status) {
		t.Error("the status differs")
	}
	s.Now = s.Now.Add(10 * time.Second)
	if p := Compute(s); len(p.Changes()) != 2 {
		t.Errorf("in time it is tried again: %s", show(p))
	}
	s.Now = s.Now.Add(-10 * time.Second)
	s.Topic.Generation = 3
	configured("min.insync.replicas=1")(&s)
	if p := Compute(s); len(p.Changes()) != 2 {
		t.Errorf("another spec is tried at once: %s", show(p))
	}
	s.Topic.Generation, s.Topic.Spec.Partitions, s.Topic.Spec.Config = 2, nil, nil
	if p := Compute(s); readyOf(p).Status != metav1.ConditionTrue {
		t.Errorf("with nothing to do the refusal counts for nothing: %s", show(p))
	}
}

func TestRefusalsAreExplained(t *testing.T) {
	for _, r := range []struct {
		refusal Refusal
		want    string
	}{
		{Refusal{Action: CreateAction, Code: kafka.InvalidConfig, Message: "Unknown topic config name: x"}, "ConfigInvalid: create the topic: INVALID_CONFIG: Unknown topic config name: x"},
		{Refusal{Action: CreateAction, Code: kafka.InvalidReplicationFactor, Message: "3 > 1"}, "NotEnoughBrokers: create the topic: INVALID_REPLICATION_FACTOR: 3 > 1"},
		{Refusal{Action: CreateAction, Code: kafka.InvalidTopicException, Message: "collides"}, "NameInvalid: create the topic: INVALID_TOPIC_EXCEPTION: collides"},
		{Refusal{Action: GrowAction, Code: kafka.PolicyViolation, Message: "too many"}, "Refused: add partitions: POLICY_VIOLATION: too many"},
		{Refusal{Action: GrowAction, Code: kafka.NotController, Message: "now 3", Transient: true}, "Retrying: add partitions: NOT_CONTROLLER: it is tried again"},
		{Refusal{Action: CreateAction, Code: kafka.TopicAlreadyExists}, "Retrying: the topic exists already and is looked at again"},
		{Refusal{Action: AlterAction, Message: "dial tcp 1.2.3.4: refused"}, "Retrying: change settings: the brokers did not answer: it is tried again"},
		{Refusal{Action: CreateAction}, "Creating: the brokers did not answer whether they create the topic: it is looked for"},
	} {
		reason, message := explain(&r.refusal)
		if got := string(reason) + ": " + message; got != r.want {
			t.Errorf("%+v: %q, want %q", r.refusal, got, r.want)
		}
	}
}

func TestAClusterThatCannotBeAsked(t *testing.T) {
	expect(t, "there is none", world(func(s *Snapshot) { s.Cluster = nil }), `
Ready=False ClusterNotFound: there is no Cluster c in this namespace
again in 45s
`)
	expect(t, "it goes", world(func(s *Snapshot) { now := metav1.NewTime(start); s.Cluster.DeletionTimestamp = &now }), `
Ready=False ClusterDeleting: Cluster c is being deleted
again in 45s
`)
	expect(t, "it never answered", world(func(s *Snapshot) { s.Found, s.HeardAt = fact.Unknown[*Found]("refused"), time.Time{} }), `
Ready=Unknown ClusterNotReady: no broker of Cluster c answers: its conditions say more
again in 30s
`)

	silent := func(s *Snapshot) { s.Found = fact.Unknown[*Found]("refused") }
	s := settled(found(exists(1, 1)))
	silent(&s)
	s.Now = start.Add(Patience - 1)
	expect(t, "a short silence", s, `
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 10s
`)
	s.Now = start.Add(Patience)
	p := expect(t, "a long silence", s, `
Ready=Unknown ClusterNotReady: no broker of Cluster c answers: its conditions say more
Replicated=Unknown ClusterNotReady: no broker of Cluster c answers
again in 30s
`)
	if p.Status.Partitions != 1 || p.Status.TopicID == "" {
		t.Errorf("what was seen last stays: %+v", p.Status)
	}
	s.Now, s.Topic.Generation = start, 2
	if p := Compute(s); p.Status.ObservedGeneration != 2 || readyOf(p).Status != metav1.ConditionUnknown {
		t.Errorf("a new spec gets an answer at once: %s", show(p))
	}
}

func TestAPausedClusterIsLeftAlone(t *testing.T) {
	paused := func(s *Snapshot) { s.Cluster.Spec.Paused = true; s.Topic.Spec.DeletionPolicy = v1alpha1.Delete }
	const left = "Ready=False ClusterPaused: Cluster c is paused: the topic is not as the spec says, and is left as it is\n"
	expect(t, "a topic that is missing", world(paused), "\n"+left+"again in 45s\n")
	expect(t, "a topic that differs", world(paused, found(exists(1, 1)), partitions(2)), "\n"+left+`Adopted=True TopicExisted: the topic existed before this object, which describes it from now on
Replicated=True InSync: every replica is in sync
again in 45s
`)
	expect(t, "a topic that is as it should be", world(paused, found(exists(1, 1))), `
Ready=True Applied: the topic is as the spec says
Adopted=True TopicExisted: the topic existed before this object, which describes it from now on
Replicated=True InSync: every replica is in sync
again in 45s
`)
}

func TestHealthIsReported(t *testing.T) {
	f := exists(3, 2)
	f.Partitions[0].ISR = []int32{0}
	f.Partitions[1].ISR, f.Partitions[1].Leader = []int32{1}, -1
	p := expect(t, "offline", settled(found(f)), `
Ready=False Offline: 1 of 3 partitions have no leader, nobody can write or read them: 1
Replicated=False UnderReplicated: 2 of 3 partitions have replicas that are not in sync: 0, 1 (behind or away: broker 0, 1)
again in 45s
`)
	if u, o := p.Status.UnderReplicated, p.Status.Offline; u == nil || *u != 2 || o == nil || *o != 1 {
		t.Errorf("%+v", p.Status)
	}
	f.Partitions[1].Leader = 1
	expect(t, "under-replicated", settled(found(f)), `
Ready=True Applied: the topic is as the spec says; 2 of 3 partitions are under-replicated
Replicated=False UnderReplicated: 2 of 3 partitions have replicas that are not in sync: 0, 1 (behind or away: broker 0, 1)
again in 45s
`)
	tool := exists(1, 2)
	tool.Partitions[0] = Partition{Leader: 0, Replicas: []int32{2, 0, 1}, ISR: []int32{0, 1}, Adding: []int32{2}, Removing: []int32{1}}
	expect(t, "a partition that a tool moves", settled(found(tool), replicas(2)), `
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 45s
`)
}

func TestC50AConvergedTopicGivesAnEmptyPlanTwice(t *testing.T) {
	keep := func(s *Snapshot) {
		s.Topic.Spec.DeletionPolicy = v1alpha1.Delete
		s.Topic.Finalizers = []string{Finalizer}
	}
	for what, s := range map[string]Snapshot{
		"without a wish":  settled(found(exists(1, 1))),
		"with all wishes": settled(found(exists(6, 3, "retention.ms=5")), partitions(6), replicas(3), configured("retention.ms=5"), keep),
		"with a throttle": settled(found(exists(6, 3, "leader.replication.throttled.replicas=*"))),
	} {
		for i := range 2 {
			s.Now = s.Now.Add(time.Hour)
			s.HeardAt = s.Now
			p := Compute(s)
			if len(p.Actions) != 0 || text(t, p.Status) != text(t, s.Topic.Status) || p.LookAgain != Steady {
				t.Errorf("%s, time %d: %s", what, i, show(p))
			}
			s.Topic.Status = p.Status
		}
	}
}

func TestTheFinalizerIsThereForDeletionAlone(t *testing.T) {
	s := world(func(s *Snapshot) { s.Topic.Spec.DeletionPolicy = v1alpha1.Delete })
	expect(t, "before the topic is created", s, `
put the finalizer on
create t, partitions -1, replicas -1
Ready=False Creating: the topic is being created
again in 1s
`)
	s.Found, s.HeardAt = fact.Unknown[*Found]("refused"), time.Time{}
	expect(t, "while no broker was ever asked it waits for nothing", s, `
Ready=Unknown ClusterNotReady: no broker of Cluster c answers: its conditions say more
again in 30s
`)
	s.Topic.Finalizers = []string{Finalizer}
	if p := Compute(s); len(p.Actions) != 0 {
		t.Errorf("a creation that nobody confirmed may have been made: %s", show(p))
	}
	s = settled(found(exists(1, 1)), func(s *Snapshot) { s.Found = fact.Known(exists(1, 1)) })
	s.Topic.Spec.DeletionPolicy, s.Topic.Generation, s.Found = v1alpha1.Delete, 2, fact.Unknown[*Found]("refused")
	if p := Compute(s); len(p.Actions) != 1 || p.Actions[0] != (Hold{}) {
		t.Errorf("a topic that was seen once is held: %s", show(p))
	}
	s = settled(found(exists(1, 1)), func(s *Snapshot) { s.Topic.Finalizers = []string{"other", Finalizer} })
	expect(t, "of a topic that is kept it is taken off", s, `
take the finalizer off
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 45s
`)
}

func TestNobodyIsAskedWhereThePlanDoesNotDependOnIt(t *testing.T) {
	now := metav1.NewTime(start)
	older := *world().Topic.DeepCopy()
	older.Name = "a"
	for what, r := range map[string]struct {
		change []func(*Snapshot)
		asks   bool
	}{
		"a Topic":                              {nil, true},
		"of a paused Cluster":                  {[]func(*Snapshot){func(s *Snapshot) { s.Cluster.Spec.Paused = true }}, true},
		"without a Cluster":                    {[]func(*Snapshot){func(s *Snapshot) { s.Cluster = nil }}, false},
		"of a Cluster that goes":               {[]func(*Snapshot){func(s *Snapshot) { s.Cluster.DeletionTimestamp = &now }}, false},
		"with a wrong name":                    {[]func(*Snapshot){func(s *Snapshot) { s.Topic.Spec.TopicName = "a b" }}, false},
		"with an older rival":                  {[]func(*Snapshot){func(s *Snapshot) { s.Rivals = []v1alpha1.Topic{older} }}, false},
		"that goes":                            {[]func(*Snapshot){deleted}, true},
		"that goes, without the finalizer":     {[]func(*Snapshot){deleted, func(s *Snapshot) { s.Topic.Finalizers = nil }}, false},
		"that goes, and leaves the topic":      {[]func(*Snapshot){deleted, func(s *Snapshot) { s.Topic.Spec.DeletionPolicy = v1alpha1.Retain }}, false},
		"that goes, while Cluster is paused":   {[]func(*Snapshot){deleted, func(s *Snapshot) { s.Cluster.Spec.Paused = true }}, false},
		"that goes, with an heir":              {[]func(*Snapshot){deleted, func(s *Snapshot) { s.Rivals = []v1alpha1.Topic{older} }}, false},
		"that goes, as the rival and Cluster":  {[]func(*Snapshot){deleted, func(s *Snapshot) { s.Cluster.DeletionTimestamp = &now }}, false},
		"that goes, with a name of no topic's": {[]func(*Snapshot){deleted, func(s *Snapshot) { s.Topic.Spec.TopicName = "a b" }}, false},
	} {
		s := world(r.change...)
		if Asks(s) != r.asks {
			t.Errorf("%s: asks %v", what, !r.asks)
		}
		plans := map[string]bool{}
		for _, f := range []fact.Fact[*Found]{fact.Known[*Found](nil), fact.Known(exists(1, 1)), fact.Unknown[*Found]("refused")} {
			s.Found = f
			p := Compute(s)
			plans[text(t, p)] = true
		}
		if (len(plans) > 1) != r.asks {
			t.Errorf("%s: %d plans", what, len(plans))
		}
	}
}
