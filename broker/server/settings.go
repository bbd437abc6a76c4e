package server

import (
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// settings are the broker's settings as they are now: its file, and over it what was altered while brokers run.
type settings struct {
	node    kafka.NodeID
	static  config.Values
	current atomic.Pointer[resolved]
	// fileMinISR is the file's min.insync.replicas, "" when it has none.
	fileMinISR string
}

// ignoredMinISR tells whether the file asks for another min.insync.replicas than the cluster has.
func (s *settings) ignoredMinISR(image *metadata.Image) (file, cluster string, ignored bool) {
	def := config.BrokerDef(metadata.MinISRSetting)
	cluster, ok := image.Config(metadata.DefaultBrokerConfig).Get(metadata.MinISRSetting)
	if !ok {
		cluster = *def.Default
	}
	return s.fileMinISR, cluster, s.fileMinISR != "" && s.fileMinISR != cluster
}

// resolved is one state of the settings. It is immutable.
type resolved struct {
	layers config.Layers // without a topic's
	broker config.Broker
}

// newSettings begins with a broker's file. Its min.insync.replicas is left out, since that counts from the cluster's metadata alone: see
// metadata.Image.MinISR. What DescribeConfigs says of it is then what has effect.
func newSettings(static config.Values, b config.Broker) *settings {
	static = static.Clone()
	minISR := static[metadata.MinISRSetting]
	delete(static, metadata.MinISRSetting)
	s := &settings{node: b.NodeID, static: static, fileMinISR: minISR}
	s.current.Store(&resolved{config.Layers{Static: static}, b})
	return s
}

func (s *settings) broker() *config.Broker { return &s.current.Load().broker }
func (s *settings) layers() config.Layers  { return s.current.Load().layers }

// follow takes the altered settings from an image. Altered values were checked by the controller; should they not fit this broker's
// file, the settings stay as they are and the error says why.
func (s *settings) follow(image *metadata.Image) error {
	layers := s.layersOf(image)
	b, err := config.ResolveBroker(layers)
	if err != nil {
		return err
	}
	s.current.Store(&resolved{layers, b})
	return nil
}

func (s *settings) layersOf(image *metadata.Image) config.Layers {
	return config.Layers{
		Broker:  image.Config(metadata.BrokerConfig(s.node)).Values(),
		Default: image.Config(metadata.DefaultBrokerConfig).Values(),
		Static:  s.static,
	}
}

// topic resolves a topic's settings on this broker.
func (s *settings) topic(image *metadata.Image, name string) config.Topic {
	layers := s.layersOf(image)
	layers.Topic = image.Config(metadata.TopicConfig(name)).Values()
	return config.ResolveTopic(layers)
}
