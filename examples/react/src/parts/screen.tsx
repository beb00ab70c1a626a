import { createContext, type ReactNode, useContext, useEffect, useRef } from 'react'
import { texts } from '../language/language.ts'
import { Icon, type IconName } from './icon.tsx'

/** What each screen shows below its title: who is signing in. */
export const BelowTitle = createContext<ReactNode>(null)

interface ScreenProps {
  readonly title: ReactNode
  /** Before the title. */
  readonly icon?: IconName | undefined
  readonly children?: ReactNode
}

/**
 * One screen. The focus moves to the first empty field of its form, else to the submit button, else
 * to the title.
 */
export function Screen({ title, icon, children }: ScreenProps) {
  const screen = useRef<HTMLDivElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${heading.current?.textContent} · ${texts.portal}`
    const next = screen.current?.querySelector<HTMLElement>(
      ':scope > form :is(input:invalid, select:invalid, [type="submit"])',
    )
    const focused = next ?? heading.current
    focused?.focus()
  }, [])
  return (
    <div ref={screen}>
      <div className="title">
        {icon && <Icon name={icon} />}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
      </div>
      {useContext(BelowTitle)}
      {children}
    </div>
  )
}
