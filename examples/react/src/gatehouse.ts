import { createGatehouse, createSignInController } from 'gatehouse-client'
import { chosenLanguage, messages } from './language/language.ts'

/** One for the page: it knows the open session. Gatehouse is at the page's own origin. */
export const gatehouse = createGatehouse(chosenLanguage ? { language: chosenLanguage } : {})

/** Its state is where the sign-in is, and the session that it leads to. */
export const signIn = createSignInController(gatehouse, { messages, pushAtOnce: true })

/**
 * The relying party id of security keys, such as `example.com` for keys of all its hosts.
 * Undefined: the page's host. Users must set up their keys again after a change.
 */
export const RELYING_PARTY_ID: string | undefined = undefined

/**
 * Where the page may send users after the sign-in: add what Gatehouse allows besides
 * (`ALLOWED_ORIGINS`, `RETURN_TO`). Not applications with a cookie of their own: to these,
 * Gatehouse leads.
 */
export const RETURN_TARGETS: readonly string[] = [location.origin]
