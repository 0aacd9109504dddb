"""A night's intake: shards, merge, ledger, quarantine, and the account that adds up."""
