/**
 * How a group of actions is offered to the views below, and taken up there.
 */
import { createContext, useContext } from 'react';

/**
 * Makes the context of one group of actions.
 *
 * A place that does not offer the group provides null: there a view that needs it is not drawn, or
 * draws only what there is to see.
 */
export function createActionContext<T>(group: string) {
  const Context = createContext<T | null>(null);
  Context.displayName = group;
  /** Returns the group; null where it is not offered. */
  const useIfOffered = (): T | null => useContext(Context);
  /** Returns the group. Throws where it is not offered. */
  const useOffered = (): T => {
    const offered = useIfOffered();
    if (offered === null) {
      throw new Error(
        `A view that needs ${group} was drawn where there are none.`
      );
    }
    return offered;
  };
  return { Provider: Context.Provider, useIfOffered, useOffered };
}
