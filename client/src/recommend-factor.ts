import type { Factor } from './answers.ts'

/**
 * The strongest first: what cannot be used at a wrong site, then devices, then other identity
 * providers with rules of their own, then codes that are sent, then what the user knows. A page
 * cannot verify the types that are missing. `asks`: the proof is sent at once, without a challenge
 * before.
 */
const BY_STRENGTH: readonly { readonly type: string; readonly asks?: true }[] = [
  { type: 'webauthn' },
  { type: 'push' },
  { type: 'token:hardware', asks: true },
  { type: 'token', asks: true },
  { type: 'token:software:totp', asks: true },
  { type: 'token:hotp', asks: true },
  { type: 'claims_provider' },
  { type: 'assertion:oidc' },
  { type: 'assertion:saml2' },
  { type: 'web' },
  { type: 'email' },
  { type: 'sms' },
  { type: 'call' },
  { type: 'question', asks: true },
  { type: 'password', asks: true },
]

/**
 * The factor to offer first: the one that the user used last in this browser, else the strongest.
 * @param lastUsed the id of a factor
 */
export function recommendFactor(
  factors: readonly Factor[],
  lastUsed: string | undefined,
): Factor | undefined {
  const last = factors.find(({ id }) => id !== undefined && id === lastUsed)
  const ranked = BY_STRENGTH.map(({ type }) => factors.find(({ factorType }) => factorType === type))
  return last ?? ranked.find((factor) => factor !== undefined)
}

/** Whether the user gives the proof, such as a code, before anything is sent. */
export function asksForProof({ factorType }: Factor): boolean {
  return BY_STRENGTH.some(({ type, asks }) => asks && type === factorType)
}
