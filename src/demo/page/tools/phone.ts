import { type Child, element } from '../parts/elements.js'
import { texts } from '../parts/language.js'
import { call } from './call.js'
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
const KINDS: Readonly<Record<string, string>> = { mail: texts.mail, sms: texts.sms, call: texts.call }

/** A phone that shows codes and messages, answers sign-in requests and scans the QR code that the page shows. */
export function createPhone(): Phone {
  let owner: User | undefined
  let drawn = ''
  const screen = element('div', { id: 'phone-screen' }, element('p', {}, texts.chooseUserForPhone))
  const said = element('p', { role: 'status' })
  setInterval(() => void refresh(), REFRESH_MS)

  return {
    view: element(
      'section',
      { id: 'phone', 'aria-labelledby': 'phone-title' },
      element('h2', { id: 'phone-title' }, texts.phone),
      screen,
      said,
      element(
        'label',
        {},
        texts.useVirtualKey,
        element('input', { type: 'checkbox', id: 'virtual-key', checked: true }),
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
    screen.replaceChildren(...bubblesOf(user, content, canScan))
  }

  function bubblesOf(user: User, { codes, request, messages }: Content, canScan: boolean): Node[] {
    const bubbles = [
      ...(request ? [requestBubble(user, request.numbers)] : []),
      ...(canScan
        ? [
            bubble(
              texts.camera,
              press(texts.scan, () => scan(user)),
            ),
          ]
        : []),
      ...(user.password === ''
        ? [
            bubble(
              texts.mail,
              press(texts.openWelcomeMail, () => welcome(user)),
            ),
          ]
        : []),
      ...codes.map(({ label, code }) =>
        bubble(label, element('p', { lang: 'en' }, label), element('p', { class: 'code' }, code)),
      ),
      ...messages.map(({ kind, text, link }) =>
        bubble(
          KINDS[kind] ?? kind,
          element('p', { class: 'soft' }, KINDS[kind] ?? kind),
          element('p', { lang: 'en', dir: 'auto' }, text),
          link !== undefined && linkTo(link),
        ),
      ),
    ]
    const empty = element('p', {}, texts.nothingYet)
    return [element('p', { class: 'owner' }, user.login), ...(bubbles.length > 0 ? bubbles : [empty])]
  }

  function requestBubble({ login }: User, numbers: readonly number[]): HTMLElement {
    const answer = (label: string, value: string | number) =>
      press(label, () => call('POST', '/demo/phone/answer', { login, answer: value }))
    const question = numbers.length > 0 ? texts.tapNumber : texts.areYouSigningIn
    const yes =
      numbers.length > 0
        ? numbers.map((number) => answer(`${number}`, number))
        : [answer(texts.itIsMe, 'approve')]
    const buttons = element('div', { class: 'actions' }, ...yes, answer(texts.itIsNotMe, 'reject'))
    return bubble(texts.signInRequest, element('p', {}, question), buttons)
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
  if (!response.ok) throw new Error(texts.cannotScan)
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
  return href.startsWith('/')
    ? element('a', { href }, texts.openLink)
    : element('a', { href, target: '_blank', rel: 'noreferrer' }, texts.openLink)
}
