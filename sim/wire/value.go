package wire

import "strconv"

// Kind is the kind of a reply, as in the protocols RESP2 and RESP3.
type Kind uint8

// The kinds of replies. The zero value is the nil reply.
const (
	Nil      Kind = iota // nothing: a key that is not there, a condition that did not hold
	Status               // a simple string, in Text: OK, QUEUED
	Error                // in Text, with its code in front: "WRONGTYPE Operation against …"
	Int                  // in Int
	Bulk                 // a string of any bytes, in Text
	Array                // in Items; a set is one, too
	Bool                 // RESP3: 1 or 0 in Int
	Double               // RESP3: in Text, as it was written
	Big                  // RESP3: an integer of any size, in Text
	Map                  // RESP3: in Items, keys and values in turn
	Push                 // RESP3: in Items; answers no command
	Withheld             // something too long to be kept: nothing is known of it
)

// Value is a reply, or a part of one.
type Value struct {
	Kind  Kind
	Int   int64
	Text  string
	Items []Value
}

// yes reports whether the reply is a number other than zero, or a true.
func (v Value) yes() bool { return (v.Kind == Int || v.Kind == Bool) && v.Int != 0 }

// no reports whether the reply is zero, or a false.
func (v Value) no() bool { return (v.Kind == Int || v.Kind == Bool) && v.Int == 0 }

// okay reports whether the reply is OK.
func (v Value) okay() bool { return v.Kind == Status && v.Text == "OK" }

// text is the string that the reply holds, and whether it is one.
func (v Value) text() (string, bool) { return v.Text, v.Kind == Bulk || v.Kind == Status }

// String returns the value much as redis-cli shows it.
func (v Value) String() string {
	switch v.Kind {
	case Nil:
		return "(nil)"
	case Status, Double, Big:
		return v.Text
	case Error:
		return "(error) " + v.Text
	case Int:
		return "(integer) " + strconv.FormatInt(v.Int, 10)
	case Bool:
		return strconv.FormatBool(v.Int != 0)
	case Bulk:
		return strconv.Quote(v.Text)
	case Withheld:
		return "(something long)"
	default:
		text := "["
		for i, item := range v.Items {
			if i > 0 {
				text += " "
			}
			text += item.String()
		}
		return text + "]"
	}
}
