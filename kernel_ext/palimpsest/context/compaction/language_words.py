"""Words of programming languages, browsers and products that look like names of a project but are not."""


def _word_set(lines: str) -> frozenset[str]:
    return frozenset(word for line in lines.splitlines() for word in line.split())


LANGUAGE_WORDS = _word_set(
    """
    is_nil is_map is_list is_atom is_binary is_integer is_float is_function is_tuple is_boolean is_number is_bitstring
    is_pid is_struct is_some is_none is_ok is_err to_string to_atom to_integer from_utf8 as_str as_ref as_mut
    set_timeout clear_timeout not_found no_return type_of instance_of sizeof_val static_cast dynamic_cast const_cast
    size_t ssize_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t char_ptr wchar_t
    int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 base32 base64 sha256 sha512 sha384 utf16 utf32
    setTimeout clearTimeout setInterval clearInterval setImmediate requestAnimationFrame cancelAnimationFrame queueMicrotask
    querySelector querySelectorAll getElementById getElementsByClassName getElementsByTagName createElement createTextNode
    appendChild removeChild replaceChild insertBefore addEventListener removeEventListener dispatchEvent preventDefault
    stopPropagation innerHTML outerHTML innerText textContent className classList getAttribute setAttribute removeAttribute
    clientTop clientLeft clientWidth clientHeight offsetTop offsetLeft offsetWidth offsetHeight scrollTop scrollLeft
    scrollHeight scrollWidth getBoundingClientRect parentNode parentElement childNodes firstChild lastChild nextSibling
    toString toFixed toLowerCase toUpperCase toISOString toLocaleString toJSON valueOf charAt charCodeAt codePointAt
    fromCharCode startsWith endsWith indexOf lastIndexOf localeCompare padStart padEnd trimStart trimEnd matchAll replaceAll
    forEach findIndex flatMap reduceRight copyWithin hasOwnProperty isArray isInteger isNaN isFinite parseInt parseFloat
    encodeURIComponent decodeURIComponent getTime getFullYear getMonth getDate setHours nodeType nodeName
    toBe toEqual toContain toThrow toHaveLength toHaveBeenCalled toBeDefined toBeNull toBeTruthy toBeFalsy beforeEach
    afterEach beforeAll afterAll typeOf instanceOf hashCode equalsIgnoreCase printStackTrace
    DOMStringMap MapIterator ArrayBuffer DataView TypedArray WeakMap WeakSet SharedArrayBuffer AsyncFunction
    HTMLElement HTMLDivElement NodeList MutationObserver ResizeObserver IntersectionObserver AbortController FormData
    NotImplemented StopIteration KeyboardInterrupt SystemExit
    StringIO BytesIO OrderedDict ArrayList HashMap HashSet LinkedList StringBuilder
    JavaScript TypeScript CoffeeScript GitHub GitLab BitBucket OpenAPI YouTube LinkedIn PostgreSQL MySQL
    MariaDB SQLite MongoDB GraphQL WebSocket DevOps macOS iOS iPhone iPad vLLM LaTeX MathML WebAssembly NumPy SciPy
    PyPI PyTorch TensorFlow JupyterLab VSCode IntelliJ PowerShell NodeJS NextJS VueJS README TODO FIXME
    """
)
RECEIVERS = _word_set(
    """this self cls super e el err error event item it obj data result res req window document console module exports process
    math json object array string number date map list node ctx context state props params args options config socket lines
    parts text value values key keys"""
)
"""Words before a dot which show that a member of an object follows, not the ending of a file."""
SUFFIXES = _word_set(
    """
    py pyi ipynb js mjs cjs jsx ts tsx mts cts json jsonl json5 yaml yml toml ini cfg conf env lock md rst txt tex bib csv tsv
    xml html htm xhtml css scss sass less svg vue svelte astro ex exs eex heex leex erl hrl rb erb rs go java kt kts scala
    groovy clj cljs edn hs ml mli fs fsx cs csproj sln vb c h cc cpp cxx hh hpp hxx m mm swift r rmd jl lua pl pm php sh bash zsh
    fish ps1 bat cmd sql db sqlite sqlite3 proto graphql gql tf tfvars nix dockerfile makefile cmake gradle bazel
    png jpg jpeg gif webp ico bmp tiff pdf doc docx xls xlsx ppt pptx odt parquet feather npy npz pkl pickle h5 hdf5 onnx pt
    zip tar gz tgz xz bz2 zst 7z whl egg jar war deb rpm dmg exe dll so dylib wasm log out output err pid sock tmp bak orig
    patch diff traj eval map snap test sed awk vim el service timer desktop plist pem crt key pub gpg
    """
)
"""Endings of files, without the dot, in small letters."""
