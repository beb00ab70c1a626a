import { expect, test } from '@jest/globals'
import { type Factor, recommendFactor } from 'gatehouse-client'

const factor = (factorType: string): Factor => ({ factorType, id: `${factorType}-1` }) as Factor

test.each([
  [['sms', 'push', 'webauthn'], undefined, 'webauthn'],
  [['sms', 'token:software:totp', 'push'], undefined, 'push'],
  [['email', 'question', 'token:software:totp'], undefined, 'token:software:totp'],
  [['sms', 'token:hardware', 'token:hotp'], undefined, 'token:hardware'],
  [['question', 'call', 'sms', 'email'], undefined, 'email'],
  [['password', 'question'], undefined, 'question'],
  [['sms', 'claims_provider'], undefined, 'claims_provider'],
  [['web', 'assertion:saml2'], undefined, 'assertion:saml2'],
  // the one that was used last, however weak
  [['webauthn', 'push', 'sms'], 'sms-1', 'sms'],
  // of another user of this browser
  [['webauthn', 'push', 'sms'], 'sms-2', 'webauthn'],
  // no page can verify these, or knows them
  [['signed_nonce', 'u2f', 'call'], undefined, 'call'],
  [['signed_nonce', 'of tomorrow'], undefined, undefined],
  [[], 'sms-1', undefined],
])('of %j, last used: %s, it recommends %s', (types, lastUsed, expected) => {
  expect(recommendFactor(types.map(factor), lastUsed)?.factorType).toBe(expected)
})

test('of two of one type, the first, unless the other was used last', () => {
  const factors = [factor('sms'), { ...factor('sms'), id: 'sms-2' }]
  expect([undefined, 'sms-2'].map((last) => recommendFactor(factors, last)?.id)).toEqual(['sms-1', 'sms-2'])
})
