/**
 * The module that anywidget imports: it takes the widget at once, and loads the large one after that.
 *
 * anywidget (0.11) drops every message of the kernel for a widget whose module was not loaded within two
 * seconds, which half a megabyte is not while a page starts on a busy machine. The large module is in the
 * widget's state, so that no address is asked for it.
 */

interface IWidgetProps {
  model: { get(name: 'module'): string };
}

interface IWidgetModule {
  initialize(props: IWidgetProps): () => void;
  render(props: IWidgetProps): () => void;
}

/** The large module, once it is asked for; each widget loads its own copy. */
let largeModule: Promise<IWidgetModule> | undefined;

export default {
  initialize: (props: IWidgetProps) =>
    beginWhenLoaded(props, module => module.initialize(props)),
  render: (props: IWidgetProps) =>
    beginWhenLoaded(props, module => module.render(props))
};

/** Calls `begin` once the large module is loaded; returns a function that prevents that, or ends what began. */
function beginWhenLoaded(
  { model }: IWidgetProps,
  begin: (module: IWidgetModule) => () => void
): () => void {
  let end: (() => void) | undefined;
  let isOver = false;
  largeModule ??= importText(model.get('module'));
  // A module that cannot be loaded is logged on the browser's console, and the saved output stays.
  void largeModule.then(module => {
    if (!isOver) {
      end = begin(module);
    }
  });
  return () => {
    isOver = true;
    end?.();
  };
}

async function importText(text: string): Promise<IWidgetModule> {
  const address = URL.createObjectURL(
    new Blob([text], { type: 'text/javascript' })
  );
  try {
    const module = (await import(/* @vite-ignore */ address)) as {
      default: IWidgetModule;
    };
    return module.default;
  } finally {
    URL.revokeObjectURL(address);
  }
}
