import { call } from '../parts/call.js'

interface Linked {
  readonly _links?: Readonly<Record<string, Link | readonly Link[]>>
}
export interface Link {
  readonly href?: string
  readonly name?: string
  /** Not from the API: a link of this page to an answer that it already has. */
  readonly answer?: Transaction
}

/** The response to every step of a sign-in. Each member may be missing; after cancel, the status too. */
export interface Transaction extends Linked {
  readonly status?: string
  /** The handle, stable for the whole transaction. */
  readonly stateToken?: string
  readonly factorResult?: string
  readonly factorResultMessage?: string
  readonly recoveryType?: string
  readonly _embedded?: Embedded
  /** Not from the API: the "do not ask again" choice of an earlier screen. */
  readonly remember?: boolean | undefined
}
export interface Factor extends Linked {
  readonly id?: string
  readonly factorType: string
  readonly provider?: string
  readonly vendorName?: string
  readonly status?: string
  readonly enrollment?: string
  readonly profile?: Readonly<Record<string, string>>
  readonly _embedded?: Embedded
}
/** The parameters of Duo's frame. */
export interface DuoRequest {
  readonly host?: string
  readonly signature?: string
}
interface Embedded {
  readonly user?: { readonly recovery_question?: { readonly question?: string } }
  readonly target?: { readonly label?: string }
  /** The list to choose from, or the chosen factor. Some orgs name the list `factor`. */
  readonly factors?: readonly Factor[]
  readonly factor?: Factor | readonly Factor[]
  /** For a security key, `challenge` and `activation` are WebAuthn options in JSON. */
  readonly challenge?: { readonly correctAnswer?: number }
  readonly activation?: Linked & DuoRequest & { readonly sharedSecret?: string }
  readonly verification?: Linked & DuoRequest
  readonly policy?: {
    readonly allowRememberDevice?: boolean
    readonly rememberDeviceByDefault?: boolean
    readonly expiration?: { readonly passwordExpireDays?: number }
    readonly complexity?: Readonly<Record<string, number | boolean>>
    readonly age?: Readonly<Record<string, number>>
  }
}

/** The links of a relation as a list: `resend` and `send` may be lists, `next` and `cancel` are single links. */
export function linksOf(holder: Linked | undefined, relation: string): readonly Link[] {
  return [holder?._links?.[relation] ?? []].flat()
}

export function linkOf(holder: Linked | undefined, relation: string): Link | undefined {
  return linksOf(holder, relation)[0]
}

export function factorsOf({ _embedded }: Transaction): readonly Factor[] {
  return [_embedded?.factor ?? _embedded?.factors ?? []].flat()
}

/** Posts the values and the handle to a link. `rememberDevice` and `updatePhone` go into its query. */
export async function followLink(from: Transaction, link: Link, values: Flags = {}): Promise<Transaction> {
  if (link.answer) return link.answer
  if (link.name === 'redirect') return navigateTo(link.href ?? '', from.stateToken ?? '')
  const { rememberDevice: remember = from.remember, updatePhone, ...body } = values
  const url = new URL(link.href ?? '', location.href)
  if (remember) url.searchParams.set('rememberDevice', 'true')
  if (updatePhone) url.searchParams.set('updatePhone', 'true')
  const answer = await call<Transaction>('POST', url.href, { ...body, stateToken: from.stateToken })
  return { ...answer, remember }
}
const LEFT = 'transaction'

/** Keeps the handle in this tab while the browser visits another page. */
function navigateTo(href: string, handle: string): Promise<never> {
  sessionStorage.setItem(LEFT, handle)
  location.assign(href)
  return new Promise(() => undefined) // the page unloads
}

/** Returns the handle that `navigateTo` saved, and removes it. */
export function takeSavedHandle(): string | undefined {
  const handle = sessionStorage.getItem(LEFT) ?? undefined
  sessionStorage.removeItem(LEFT)
  return handle
}

type Flags = { readonly rememberDevice?: boolean; readonly updatePhone?: boolean }
