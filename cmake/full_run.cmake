# Which presets run which tests in the full run, `./dev test` without arguments: those with the label full:<preset>.
#
#   statistics   dev alone. A measured rate or load needs a large sample, and a sanitizer finds nothing in the last
#                million keys that it does not find in the first thousand.
#   foreign      dev alone. What the test checks runs in a browser, a compiler or the second reader of tests/interop, or
#                is the time that an optimised program takes.
#   printing     dev alone. Commands that print what kith knows, and read no files of others. The test cli_faults runs
#                each of them under the sanitizers.
#   everything   asan-ubsan, which checks more than dev; also dev, if the test is quick or if it takes a smaller sample
#   else         under a sanitizer (it is `sampled`). Contract checks, except statistics and those of code that has no
#                SIMD kernels (`portable`), also run in nosimd, with full samples.
#
# `./dev test` fails if a test of any of its presets has no preset that runs it.

# Labels the tests of the current folder. A folder that adds tests calls this after the last one. It reads these
# lists of names: slow, statistics, foreign, printing, sampled, portable.
function(label_full_run)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    set(presets dev)
    if(NOT test IN_LIST statistics AND NOT test IN_LIST foreign AND NOT test IN_LIST printing)
      list(APPEND presets asan-ubsan)
      if(test IN_LIST slow AND NOT test IN_LIST sampled)
        list(REMOVE_ITEM presets dev)
      endif()
    endif()
    if(test MATCHES "^contract\\." AND NOT test IN_LIST statistics AND NOT test IN_LIST portable)
      list(APPEND presets nosimd)
    endif()
    label_test(${test} ${presets})
  endforeach()
endfunction()

function(label_test test) # PRESET…
  foreach(preset ${ARGN})
    set_property(TEST ${test} APPEND PROPERTY LABELS full:${preset})
  endforeach()
endfunction()
