// Package calls draws what production meets and the plans of scenarios have not:
// one to a thousand elections in a process, in databases and prefixes of one
// server; candidates of different settings in one election; work, callbacks, logs
// and protected resources that are slow, hang or panic; every call of the elector
// at any moment; operators and neighbours who change keys, rights, clocks and
// servers; networks that lose, refuse, reset, swallow and crawl.
//
// A case is drawn from one number, and carried out by the elector that ships in a
// bubble of fake time, so Run must be called inside synctest.Test. Its history
// names its elections, and is judged as any other. Beside it, each case holds the
// elector to what the documents of its calls say: see [Obligations].
package calls
