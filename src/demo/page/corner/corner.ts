import { call } from '../parts/call.js'
import { byId, type Child, element } from '../parts/elements.js'
import { button } from '../parts/form.js'
import { go } from '../sign-in/sign-in.js'
import { START } from '../sign-in/steps.js'
import { lendVirtualKey } from './virtual-key.js'

/**
 * The demo's own corner, no part of the sign-in page: whom to try, and what their phone shows. It asks the sandbox
 * (through /demo/…), never the broker.
 */
interface Person {
  readonly login: string
  readonly password: string
  readonly says: string
}

interface Phone {
  readonly codes: readonly { readonly label: string; readonly code: string }[]
  readonly pushWaiting: boolean
  /** Newest first. */
  readonly messages: readonly {
    readonly at: number
    readonly kind: string
    readonly text: string
    readonly link?: string
  }[]
}

const REFRESH_MS = 1000

let chosen: Person | undefined
let drawn = ''

async function openCorner(): Promise<void> {
  const people = await call<Person[]>('GET', '/demo/people')
  byId('people').replaceChildren(...people.map(personButton))
  lendVirtualKey(() => chosen?.login)
  setInterval(() => refresh().catch(() => undefined), REFRESH_MS) // the next look will tell
}

function personButton(person: Person): HTMLElement {
  const pick = element(
    'button',
    { type: 'button' },
    element('strong', {}, person.login),
    element('span', {}, person.says),
  )
  pick.addEventListener('click', () => {
    for (const other of document.querySelectorAll('#people [aria-pressed]'))
      other.removeAttribute('aria-pressed')
    pick.setAttribute('aria-pressed', 'true')
    chosen = person
    void fillIn(person)
    void refresh()
  })
  return element('li', {}, pick)
}

async function fillIn({ login: username, password }: Person): Promise<void> {
  await go(START)
  for (const [name, value] of Object.entries({ username, password })) {
    const input = byId('portal').querySelector<HTMLInputElement>(`[name="${name}"]`)
    if (input) input.value = value
  }
  byId('portal').querySelector<HTMLElement>('form :is(:invalid, [type="submit"])')?.focus()
}

async function refresh(): Promise<void> {
  if (chosen === undefined) return
  const phone = await call<Phone>('GET', `/demo/phone?login=${encodeURIComponent(chosen.login)}`)
  const state = JSON.stringify([chosen.login, phone])
  if (state === drawn) return // nothing new: whoever is about to press a button here keeps it
  drawn = state
  byId('phone-screen').replaceChildren(...screenOf(chosen, phone))
}

function screenOf({ login, password }: Person, { codes, pushWaiting, messages }: Phone): Node[] {
  const parts: Child[] = [
    element('p', { class: 'owner' }, login),
    pushWaiting &&
      element(
        'div',
        { class: 'bubble' },
        element('p', {}, 'Are you signing in just now?'),
        element(
          'div',
          { class: 'actions' },
          answer(login, 'approve', 'Yes, it is me'),
          answer(login, 'reject', 'No, it is not'),
        ),
      ),
    password === '' &&
      element(
        'div',
        { class: 'bubble' },
        button('Open the welcome mail', () => welcome(login)),
      ),
    ...codes.map(({ label, code }) =>
      element('div', { class: 'bubble' }, element('p', {}, label), element('p', { class: 'code' }, code)),
    ),
    ...messages.map(({ kind, text, link }) =>
      element(
        'div',
        { class: 'bubble' },
        element('p', { class: 'soft' }, KINDS[kind] ?? kind),
        element('p', {}, text),
        link !== undefined && linkTo(link),
      ),
    ),
  ]
  const shown = parts.filter((part): part is Node => part instanceof Node)
  return shown.length > 1 ? shown : [...shown, element('p', {}, 'Nothing here yet.')]
}

const KINDS: Readonly<Record<string, string>> = { mail: 'Mail', sms: 'Text message', call: 'Phone call' }

/** What leads to this page stays in this tab; the sandbox's own pages open beside it. */
function linkTo(href: string): HTMLElement {
  return href.startsWith('/')
    ? element('a', { href }, 'Open the link')
    : element('a', { href, target: '_blank', rel: 'noreferrer' }, 'Open the link')
}

function answer(login: string, says: string, label: string): HTMLElement {
  return button(label, async () => {
    await call('POST', '/demo/push', { login, answer: says })
    await refresh()
  })
}

async function welcome(login: string): Promise<void> {
  const { link } = await call<{ link: string }>('POST', '/demo/welcome', { login })
  location.assign(link)
}

await openCorner()
