import { expect, test } from '@jest/globals'
import { redisFailure } from '../../src/store/redis-errors.ts'

test.each([
  ['Redis 6.2', '@user_script: 2: -NOPERM this user has no permissions to run the get command script: 0a'],
  [
    'Redis 7.0',
    "ERR The user executing the script can't run this command or subcommand script: 0a, on @user_script:2.",
  ],
  [
    'Valkey 8',
    "ERR ACL failure in script: User gatehouse has no permissions to run the 'time' command script: 0a, on @user_script:2.",
  ],
])('a script that lacks a right is refused with NOPERM by %s', (_, message) => {
  expect(redisFailure(Object.assign(new Error(message), { name: 'ReplyError' })).code).toBe('NOPERM')
})

test.each([
  ['Redis 6.2', 'ERR unknown command `info`, with args beginning with: ', 'unknown command INFO'],
  ['Redis 7', "ERR unknown command 'EVALSHA', with args beginning with: '3f9c' ", 'unknown command EVALSHA'],
  ['Envoy', "ERR unsupported command 'info'", 'unknown command INFO'],
  [
    'a script',
    'ERR Unknown Redis command called from script script: 0a, on @user_script:2.',
    'unknown command in a script',
  ],
  [
    'a reply without a plain name',
    "ERR unknown command '2 secret words', with args beginning with: ",
    'unknown command',
  ],
])('a command that the server does not have is named: %s', (_, message, code) => {
  expect(redisFailure(Object.assign(new Error(message), { name: 'ReplyError' })).code).toBe(code)
})
