"""An elector with the lock of Redisson: a hash with a field for each holder. With "blind" it prolongs the lease of any holder."""
import sys

from term import ELECTION, LEASE_MS, OWNER, Store, live

store = Store()
LOCK, CHANNEL = ELECTION + ":lock", ELECTION + ":channel"
TAKE = """if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end;
return redis.call('pttl', KEYS[1]);"""
KEEP = """if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('pexpire', KEYS[1], ARGV[1]); return 1; end; return 0;"""
BLIND = """return redis.call('pexpire', KEYS[1], ARGV[1])"""
GIVE = """if (redis.call('hexists', KEYS[1], ARGV[1]) == 0) then return nil; end;
redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], '0'); return 1;"""
blind = "blind" in sys.argv

live(
    take=lambda: store.ask("EVAL", TAKE, 1, LOCK, LEASE_MS, OWNER) is None,
    keep=lambda: store.ask("EVAL", BLIND if blind else KEEP, 1, LOCK, LEASE_MS, OWNER) == 1,
    give=lambda: store.ask("EVAL", GIVE, 2, LOCK, CHANNEL, OWNER) == 1,
    trusts=blind,
)
