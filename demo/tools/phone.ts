import { call } from './call.js'
import { type Child, element } from './elements.js'
import type { User } from './user.js'

/** The response of `/demo/phone`. */
interface Content {
  readonly codes: readonly { readonly label: string; readonly code: string }[]
  /** A pending push request. With number matching, `numbers` are the choices. */
  readonly request?: { readonly numbers: readonly number[] }
  /** Newest first. */
  readonly messages: readonly {
    readonly at: number
    readonly kind: string
    readonly text: string
    readonly link?: string
  }[]
}

export interface Phone {
  readonly view: HTMLElement
  owner(): User | undefined
  belongTo(user: User): void
}

const REFRESH_MS = 1000
const KINDS: Readonly<Record<string, string>> = { mail: 'Email', sms: 'Text message', call: 'Phone call' }

/**
 * A phone that shows codes and messages, answers sign-in requests and scans the QR code that the
 * page shows.
 *
 * @param onChange is told whether a sign-in request waits
 */
export function createPhone(onChange: (isAsked: boolean) => void): Phone {
  let owner: User | undefined
  let drawn = ''
  const screen = element(
    'div',
    { id: 'phone-screen' },
    element('p', {}, 'Choose a user below. Their codes, messages and sign-in requests appear here.'),
  )
  const said = element('p', { role: 'status' })
  setInterval(() => void refresh(), REFRESH_MS)

  return {
    view: element(
      'section',
      { id: 'phone', 'aria-labelledby': 'phone-title' },
      element('h2', { id: 'phone-title' }, 'The phone'),
      screen,
      said,
      element(
        'label',
        {},
        'Use the sandbox’s security key',
        element('input', { type: 'checkbox', id: 'virtual-key', checked: '' }),
      ),
    ),
    owner: () => owner,
    belongTo(user) {
      owner = user
      said.textContent = ''
      void refresh()
    },
  }

  /** A failed refresh is ignored: the next one follows after a second. */
  async function refresh(): Promise<void> {
    const user = owner
    if (user === undefined) return
    const path = `/demo/phone?login=${encodeURIComponent(user.login)}`
    const content = await call<Content>('GET', path).catch(() => undefined)
    if (content === undefined || user !== owner) return
    const canScan = pictureOnPage() !== null
    const state = JSON.stringify([user.login, content, canScan])
    if (state === drawn) return // unchanged: keeps the focus
    drawn = state
    onChange(content.request !== undefined)
    screen.replaceChildren(...bubblesOf(user, content, canScan))
  }

  function bubblesOf(user: User, { codes, request, messages }: Content, canScan: boolean): Node[] {
    const bubbles = [
      ...(request ? [requestBubble(user, request.numbers)] : []),
      ...(canScan
        ? [
            bubble(
              'Camera',
              press('Scan the QR code', () => scan(user)),
            ),
          ]
        : []),
      ...(user.password === ''
        ? [
            bubble(
              'Email',
              press('Open the welcome email', () => welcome(user)),
            ),
          ]
        : []),
      ...codes.map(({ label, code }) =>
        bubble(label, element('p', {}, label), element('p', { class: 'code' }, code)),
      ),
      ...messages.map(({ kind, text, link }) =>
        bubble(
          KINDS[kind] ?? kind,
          element('p', { class: 'soft' }, KINDS[kind] ?? kind),
          element('p', { dir: 'auto' }, text),
          link !== undefined && linkTo(link),
        ),
      ),
    ]
    const empty = element('p', {}, 'Nothing here yet.')
    return [element('p', { class: 'owner' }, user.login), ...(bubbles.length > 0 ? bubbles : [empty])]
  }

  function requestBubble({ login }: User, numbers: readonly number[]): HTMLElement {
    const answer = (label: string, value: string | number) =>
      press(label, () => call('POST', '/demo/phone/answer', { login, answer: value }))
    const question =
      numbers.length > 0 ? 'Tap the number that the sign-in page shows.' : 'Are you signing in?'
    const yes =
      numbers.length > 0
        ? numbers.map((number) => answer(`${number}`, number))
        : [answer('Yes, it is me', 'approve')]
    const buttons = element('div', { class: 'actions' }, ...yes, answer('No, it is not me', 'reject'))
    return bubble('Sign-in request', element('p', {}, question), buttons)
  }

  function press(label: string, work: () => Promise<unknown>): HTMLButtonElement {
    const made = element('button', { type: 'button' }, label)
    made.addEventListener('click', async () => {
      said.textContent = ''
      await work().catch((error: unknown) => {
        said.textContent = error instanceof Error ? error.message : ''
      })
      await refresh()
    })
    return made
  }
}

/** The QR code that the page shows for an enrollment. */
function pictureOnPage(): HTMLImageElement | null {
  return document.querySelector<HTMLImageElement>('img[src*="/qr/"]')
}

async function scan({ login }: User): Promise<void> {
  const picture = await fetch(pictureOnPage()?.src ?? '')
  const path = `/demo/phone/scan?login=${encodeURIComponent(login)}`
  const response = await fetch(path, { method: 'POST', body: await picture.blob() })
  if (!response.ok) throw new Error('The phone cannot read this QR code.')
}

async function welcome({ login }: User): Promise<void> {
  const { link } = await call<{ link: string }>('POST', '/demo/welcome', { login })
  location.assign(link)
}

function bubble(label: string, ...content: readonly Child[]): HTMLElement {
  return element('div', { class: 'bubble', role: 'group', 'aria-label': label }, ...content)
}

/** A link to this page opens in this tab, a page of the sandbox in a new one. */
function linkTo(href: string): HTMLElement {
  return new URL(href).origin === location.origin
    ? element('a', { href }, 'Open the link')
    : element('a', { href, target: '_blank', rel: 'noreferrer' }, 'Open the link')
}
