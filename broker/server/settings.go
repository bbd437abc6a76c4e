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
}

// resolved is one state of the settings. It is immutable.
type resolved struct {
	layers config.Layers // without a topic's
	broker config.Broker
}

func newSettings(static config.Values, b config.Broker) *settings {
	s := &settings{node: b.NodeID, static: static}
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
