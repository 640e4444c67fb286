/** React contexts that offer groups of actions to the views below. */
import { createContext, useContext } from 'react';

/**
 * Creates the context of one group of actions.
 *
 * Where the group is not offered, the value is null: a view that needs it is not drawn there, or is
 * drawn read-only.
 */
export function createActionContext<T>(group: string) {
  const Context = createContext<T | null>(null);
  Context.displayName = group;
  /** Returns the group; null where it is not offered. */
  const useIfOffered = (): T | null => useContext(Context);
  /** Returns the group; throws where it is not offered. */
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
