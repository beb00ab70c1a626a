import { element } from './elements.js'

/** On a narrow screen, the tools are a sheet at the bottom, which a button opens and closes. */
export interface Sheet {
  readonly button: HTMLElement
  readonly content: HTMLElement
  close(): void
  /** @param isAsked the phone has a sign-in request, which the button then says */
  isAsked(isAsked: boolean): void
}

const LABEL = 'Demo: users and their phones'

/** `tools.css` hides the button beside a page that is wide enough for both. */
export function createSheet(): Sheet {
  const content = element('div', { id: 'tools-content' })
  const button = element('button', { type: 'button', 'aria-controls': content.id }, LABEL)
  const show = (isOpen: boolean) => button.setAttribute('aria-expanded', String(isOpen))
  show(false)
  button.addEventListener('click', () => show(button.ariaExpanded === 'false'))
  return {
    button,
    content,
    close: () => show(false),
    isAsked(isAsked) {
      button.textContent = isAsked ? 'Demo: the phone has a request' : LABEL
    },
  }
}
