// Package guards draws what the guards of package elector/fence meet: resources
// whose leaders follow each other with growing tokens; terms that end, are lost and
// won again; former leaders who write on; writes that take long, hang, fail, panic,
// are cut short and sent again, from several processes and connections at once; ways
// that are cut, and resources that restart. What ships is what runs: the guards, the
// handler behind a real HTTP server and the transport before a real client, the Redis
// client and the guard's script.
//
// A case is drawn from one number, and carried out in a bubble of fake time, so Run
// must be called inside synctest.Test. Each resource is an election of the history,
// which is judged as any other. Beside it, each case holds the guard to what the
// documents of its calls say: see [Obligations].
package guards
